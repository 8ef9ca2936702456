"""A server of Spark Connect in the Java process of a session that runs already."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# What such a session is started with.
SERVING = {
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "0",  # whichever is free
}


def connected_to(spark: SparkSession) -> Any:
    """Return a session of Spark Connect."""
    from pyspark.sql.connect.session import SparkSession as RemoteSession

    assert spark._jvm is not None
    service = getattr(spark._jvm.org.apache.spark.sql.connect.service, "SparkConnectService$")
    service = getattr(service, "MODULE$")
    service.start(spark._jsc.sc())
    return RemoteSession.builder.remote(f"sc://127.0.0.1:{service.localPort()}").create()

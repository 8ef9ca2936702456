"use strict";
// Shows the numbers that Python stored in this page. It writes text only, never markup, and estimates nothing:
// a number is a whole number and a place for its decimal point.
(() => {
  const MINUS = "\u2212", BETWEEN = " \u00b7 ";
  const MOST_BARS = 40, MOST_IN_ORDER = 120, MOST_ROWS = 40, MOST_COLUMNS = 40, MOST_STEPS = 170;
  const FIRST_PAGE = 25, NEXT_PAGE = 500, MOST_TICKS = 300, SKEWED = 50, FEW = 8, FEWEST = 3, NARROWEST = 9, LONGER = 1.5;

  const byId = (id) => document.getElementById(id);
  const facts = JSON.parse(byId("facts").textContent);

  function make(kind, given = {}, ...inside) {
    const made = document.createElement(kind);
    for (const [name, value] of Object.entries(given)) {
      if (name === "text") made.textContent = value;
      else if (name === "class") made.className = value;
      else if (value !== null && value !== false) made.setAttribute(name, value === true ? "" : value);
    }
    made.append(...inside);
    return made;
  }

  function drawn(kind, given = {}, text = null) {
    const made = document.createElementNS("http://www.w3.org/2000/svg", kind);
    for (const [name, value] of Object.entries(given)) made.setAttribute(name, value);
    if (text !== null) made.textContent = text;
    return made;
  }

  // Numbers: `value` is so many times the last decimal; null is "no limit".
  function plain(value, decimals) {
    if (value === null) return "";
    let digits = BigInt(Math.abs(value)).toString();
    if (decimals) {
      digits = digits.padStart(decimals + 1, "0");
      digits = digits.slice(0, -decimals) + "." + digits.slice(-decimals);
    }
    return (value < 0 ? "-" : "") + digits;
  }
  function number(value, decimals) {
    if (value === null) return "no limit";
    const [whole, rest] = plain(value, decimals).split(".");
    const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",").replace("-", MINUS);
    return rest === undefined ? grouped : grouped + "." + rest;
  }
  const many = (count, one, more) => count.toLocaleString("en-US") + " " + (count === 1 ? one : more);

  // Views are read when they are first shown.
  const read = new Map();
  const keyOf = (items) => [...items].sort((a, b) => a - b).join(",");
  const numberOf = new Map(facts.views.map((view, place) => [keyOf(view.items), place]));

  function viewAt(place) {
    if (!read.has(place)) {
      const body = JSON.parse(byId("view-" + place).textContent);
      read.set(place, opened({ ...facts.views[place], ...body }, body.items.map((item) => facts.items[item])));
    }
    return read.get(place);
  }
  function opened(view, items) {
    const sizes = items.map((item) => item.labels.length);
    let codes = view.codes;
    if (codes === undefined) { // all groups, in order
      const count = view.estimate.length;
      codes = items.map(() => new Int32Array(count));
      for (let at = 0; at < count; at += 1) {
        let rest = at;
        for (let side = items.length - 1; side >= 0; side -= 1) {
          codes[side][at] = rest % sizes[side];
          rest = Math.floor(rest / sizes[side]);
        }
      }
    }
    return { ...view, columns: items, codes };
  }

  const state = {
    first: null, second: null, where: null, value: 0, picture: null, picks: new Map(), search: "",
    sort: null, rows: FIRST_PAGE, own: null,
  };

  // What is shown: the groups of a view that meet the condition and the picks, by the sides of the question.
  function current() {
    if (state.own !== null) return selected(state.own, state.own.columns.map((_, side) => side), null, state.own.where);
    if (state.first.startsWith("v")) {
      const view = viewAt(Number(state.first.slice(1)));
      return selected(view, view.columns.map((_, side) => side), null, "");
    }
    const sides = [Number(state.first.slice(1))];
    if (state.second !== null) sides.push(state.second);
    const items = state.where === null ? sides : [...sides, state.where];
    const view = viewAt(numberOf.get(keyOf(items)));
    const place = (item) => view.items.indexOf(item);
    const condition = state.where === null ? null : { side: place(state.where), code: state.value };
    let said = "";
    if (condition) said = facts.items[state.where].label + " is " + facts.items[state.where].labels[state.value];
    return selected(view, sides.map(place), condition, said);
  }
  function selected(view, sides, condition, said) {
    const kept = [];
    const tests = sides.map((side) => pickOf(view.columns[side]));
    for (let at = 0; at < view.estimate.length; at += 1) {
      if (condition && view.codes[condition.side][at] !== condition.code) continue;
      if (tests.every((test, place) => test === null || test(view.codes[sides[place]][at]))) kept.push(at);
    }
    return {
      view, kept, said, condition, items: sides.map((side) => view.columns[side]), codes: sides.map((side) => view.codes[side]),
    };
  }
  function pickOf(item) {
    const pick = state.picks.get(item);
    if (pick === undefined) return null;
    return Array.isArray(pick) ? (code) => code >= pick[0] && code <= pick[1] : (code) => pick.has(code);
  }

  const labelOf = (shown, side, at) => shown.items[side].labels[shown.codes[side][at]];
  const groupOf = (shown, at) => shown.items.map((_, side) => labelOf(shown, side, at)).join(BETWEEN);
  const withInterval = (view, at) => view.estimate[at] === null
    ? intervalOf(view, at) : number(view.estimate[at], view.decimals) + " (" + intervalOf(view, at) + ")";
  const isUnclear = (view, at) => view.unclear[at] === "1";
  const intervalOf = (view, at) => number(view.low[at], view.decimals) + " to " + number(view.high[at], view.decimals);

  // A short text beside what is pointed at or focused.
  const tip = byId("tip");
  let beside = null; // where what the text is about stands now
  function showTip(place, title, view, at) {
    tip.replaceChildren(make("b", { text: title }), make("span", { text: withInterval(view, at) }));
    if (isUnclear(view, at)) tip.append(make("span", { text: "cannot be told from 0" }));
    tip.hidden = false;
    beside = place;
    placeTip();
  }
  function placeTip() { // what is focused may still be on its way into sight
    if (tip.hidden) return;
    const around = beside(), box = tip.getBoundingClientRect();
    const left = Math.min(Math.max(8, around.left + around.width / 2 - box.width / 2), innerWidth - box.width - 8);
    const above = around.top - box.height - 8;
    tip.style.left = left + "px";
    tip.style.top = (above > 4 ? above : around.bottom + 8) + "px";
  }
  const hideTip = () => { tip.hidden = true; };
  addEventListener("scroll", placeTip, { passive: true, capture: true });
  addEventListener("keydown", (event) => { if (event.key === "Escape") hideTip(); });

  // One element of several is in the order of the tabulator key; arrow keys move among them.
  function roving(all, columns) {
    const moves = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -columns, ArrowDown: columns };
    return (event) => {
      const at = all.indexOf(event.target);
      if (at < 0) return;
      let next = { Home: 0, End: all.length - 1 }[event.key];
      if (next === undefined && event.key in moves) next = at + moves[event.key];
      if (next === undefined || next < 0 || next >= all.length) return;
      event.preventDefault();
      all[at].tabIndex = -1;
      all[next].tabIndex = 0;
      all[next].focus();
    };
  }
  function pointed(element, title, view, at) {
    const show = () => showTip(() => element.getBoundingClientRect(), title, view, at);
    element.addEventListener("pointerenter", show);
    element.addEventListener("focus", show);
    element.addEventListener("pointerleave", hideTip);
    element.addEventListener("blur", hideTip);
  }

  function swatch(kind, text) {
    return make("span", {}, make("i", { class: "swatch " + kind }), text);
  }

  // Whether groups follow one another: the largest of many do not, whatever their attribute is.
  const inOrder = (shown) => shown.items.length === 1 && shown.items[0].ordered && shown.view.complete !== false;

  // What all groups have together that are not drawn, where Python stored it: for a whole view alone.
  function restOf(shown) {
    const { others, decimals } = shown.view;
    if (others === undefined || shown.condition || shown.kept.length < shown.view.estimate.length) return null;
    return { estimate: [others.estimate], low: [others.low], high: [others.high], unclear: others.unclear, decimals };
  }

  // Bars from the top, with the interval as a line across each end.
  function drawBars(shown) {
    const { view } = shown, ordered = inOrder(shown);
    const all = [...shown.kept], rest = restOf(shown);
    if (!ordered) all.sort((a, b) => view.estimate[b] - view.estimate[a] || a - b);
    const kept = rest === null ? all.slice(0, ordered ? MOST_IN_ORDER : MOST_BARS) : view.others.beside;
    let low = 0, high = 0;
    for (const at of kept) {
      low = Math.min(low, view.estimate[at], view.low[at] ?? 0);
      high = Math.max(high, view.estimate[at], view.high[at] ?? view.estimate[at]);
    }
    const far = rest === null ? 0 : Math.max(rest.high[0] ?? 0, rest.estimate[0] ?? 0), near = rest === null ? 0 : Math.min(rest.low[0] ?? 0, rest.estimate[0] ?? 0);
    const cut = far > LONGER * high || near < LONGER * Math.min(low, -high);
    if (rest !== null && !cut) [low, high] = [Math.min(low, near), Math.max(high, far)];
    const share = (value) => Math.min(100, Math.max(0, (100 * (value - low)) / (high - low || 1)));
    const long = kept.some((at) => groupOf(shown, at).length > 24);
    const box = make("div", { class: long ? "bars long" : "bars", role: "list", "aria-label": "Bars" });
    const bars = kept.map((at) => [view, at, groupOf(shown, at)]);
    if (rest !== null) bars.push([rest, 0, "All others together"]);
    const rows = bars.map(([view, at, name]) => {
      const value = view.estimate[at] ?? 0;
      const fill = make("span", { class: "fill" }), range = make("span", { class: "range" }), zero = make("span", { class: "zero" });
      fill.style.left = share(Math.min(0, value)) + "%";
      fill.style.width = share(Math.max(0, value)) - share(Math.min(0, value)) + "%";
      const from = share(view.low[at] ?? low), to = share(view.high[at] ?? high);
      range.style.left = from + "%";
      range.style.width = to - from + "%";
      if (view.high[at] === null) range.classList.add("open");
      zero.style.left = share(0) + "%";
      const row = make("div", { class: isUnclear(view, at) ? "one unclear" : "one", role: "listitem", tabindex: "-1" },
        make("span", { class: "name", text: name }),
        make("span", { class: "track", "aria-hidden": "true" }, zero, fill, range),
        make("span", { class: "number" }, view.estimate[at] === null ? "" : number(value, view.decimals),
          make("span", { class: "hidden", text: " (" + intervalOf(view, at) + ")" + (isUnclear(view, at) ? ", cannot be told from 0" : "") })));
      if (view === rest) row.classList.add(...(cut ? ["rest", "cut"] : ["rest"]));
      else row.dataset.at = at;
      pointed(row, name, view, at);
      return row;
    });
    box.append(...rows);
    if (rows.length) rows[0].tabIndex = 0;
    box.addEventListener("keydown", roving(rows, 1));
    const legend = [swatch("", "estimate"), swatch("range", facts.confidence + " interval")];
    if (kept.some((at) => isUnclear(view, at))) legend.push(swatch("grey", "cannot be told from 0"));
    let said = "";
    if (kept.length < all.length) {
      said = ordered
        ? `The picture shows the first ${kept.length} of ${many(all.length, "group", "groups")}. Choose fewer values, or a line.`
        : `The picture shows the ${kept.length} largest of ${many(all.length, "group", "groups")}; the others are in the table.`;
    }
    if (rest !== null) {
      legend.push(swatch("rest", "all others together"));
      said += ` The last bar${cut ? ", which is cut off," : ""} is all other groups together: ${withInterval(rest, 0)}. This interval holds whichever groups are the largest.`;
    }
    return { box, legend, said };
  }

  function niceSteps(low, high, wanted) {
    const raw = (high - low || 1) / wanted, power = 10 ** Math.floor(Math.log10(raw));
    const step = power * [1, 2, 2.5, 5, 10].find((each) => each * power >= raw);
    const steps = [];
    for (let place = Math.ceil(low / step); steps.length < 2 || steps.at(-1) < high; place += 1) steps.push(place * step);
    return steps;
  }
  const short = (value) => (value === 0 ? 0 : value).toLocaleString("en-US", { maximumFractionDigits: 6 }).replace("-", MINUS);

  // A line with a band, over times or numbers. Arrow keys move along it.
  function drawLine(shown) {
    const { view } = shown, codes = shown.codes[0], scale = 10 ** view.decimals;
    const kept = [...shown.kept].sort((a, b) => codes[a] - codes[b]);
    const box = make("div", { class: "line", role: "slider", tabindex: "0", "aria-label": "Along the line: " + shown.items[0].label,
      "aria-valuemin": 0, "aria-valuemax": kept.length - 1, "aria-valuenow": 0 });
    let place = 0, points = [], low = 0, high = 0;
    const worth = (value) => value / scale;
    for (const at of kept) {
      low = Math.min(low, worth(view.low[at] ?? view.estimate[at]));
      high = Math.max(high, worth(view.high[at] ?? view.estimate[at]));
    }
    const said = (at) => labelOf(shown, 0, at) + ": " + number(view.estimate[at], view.decimals) + ", " + intervalOf(view, at) +
      (isUnclear(view, at) ? ", cannot be told from 0" : "");
    function draw() {
      const width = Math.max(280, box.clientWidth || 600), height = Math.round(Math.min(380, 190 + width / 5));
      const steps = niceSteps(low, high, 5);
      const top = Math.max(high, steps.at(-1));
      const margin = { left: 14 + 7 * Math.max(...steps.map((each) => short(each).length)), right: 14, top: 10, bottom: 30 };
      const first = codes[kept[0]], last = codes[kept.at(-1)];
      const x = (code) => margin.left + ((width - margin.left - margin.right) * (code - first + 0.5)) / (last - first + 1);
      const y = (value) => height - margin.bottom - ((height - margin.top - margin.bottom) * (value - low)) / (top - low || 1);
      const svg = drawn("svg", { viewBox: `0 0 ${width} ${height}`, "aria-hidden": "true", focusable: "false" });
      for (const step of steps) {
        svg.append(drawn("line", { class: step === 0 ? "axis" : "grid", x1: margin.left, x2: width - margin.right, y1: y(step), y2: y(step) }));
        svg.append(drawn("text", { x: margin.left - 6, y: y(step) + 4, "text-anchor": "end" }, short(step)));
      }
      const labels = shown.items[0].labels, longest = Math.max(...kept.map((at) => labelOf(shown, 0, at).length));
      const fit = Math.max(1, Math.floor((width - margin.left) / (7 * longest + 24)));
      const every = Math.max(1, Math.ceil(kept.length / fit));
      for (let at = 0; at < kept.length; at += every) {
        const code = codes[kept[at]], middle = x(code), half = (7 * labels[code].length) / 2;
        const anchor = middle + half > width ? "end" : middle - half < 0 ? "start" : "middle";
        svg.append(drawn("text", { x: middle, y: height - 8, "text-anchor": anchor }, labels[code]));
      }
      points = kept.map((at) => ({
        at, x: x(codes[at]), y: y(worth(view.estimate[at])),
        low: y(view.low[at] === null ? low : worth(view.low[at])), high: y(view.high[at] === null ? high : worth(view.high[at])),
      }));
      let start = 0;
      for (let end = 1; end <= points.length; end += 1) { // a line breaks where groups are left out
        if (end < points.length && codes[kept[end]] === codes[kept[end - 1]] + 1) continue;
        const run = points.slice(start, end), half = (x(first + 1) - x(first)) / 3;
        const edge = run.length > 1 ? run : [{ ...run[0], x: run[0].x - half }, { ...run[0], x: run[0].x + half }];
        const there = edge.map((each) => each.x + " " + each.high), back = edge.map((each) => each.x + " " + each.low).reverse();
        svg.append(drawn("path", { class: "band", d: "M" + [...there, ...back].join("L") + "Z" }));
        svg.append(drawn("path", { class: "path", d: "M" + run.map((each) => each.x + " " + each.y).join("L") }));
        start = end;
      }
      if (points.length <= 400) {
        for (const each of points) {
          const unclear = isUnclear(view, each.at);
          if (unclear || points.length <= 80) svg.append(drawn("circle", { class: unclear ? "dot unclear" : "dot", cx: each.x, cy: each.y, r: points.length <= 80 ? 3 : 2 }));
        }
      }
      const cursor = drawn("g", { class: "here", visibility: "hidden" });
      svg.append(cursor);
      box.replaceChildren(svg);
      return { svg, cursor, height, margin };
    }
    let sheet = null;
    function point(to) {
      place = Math.min(Math.max(to, 0), kept.length - 1);
      const here = points[place];
      box.setAttribute("aria-valuenow", place);
      box.setAttribute("aria-valuetext", said(here.at));
      sheet.cursor.replaceChildren(
        drawn("line", { class: "cursor", x1: here.x, x2: here.x, y1: sheet.margin.top, y2: sheet.height - sheet.margin.bottom }),
        drawn("line", { class: "reach", x1: here.x, x2: here.x, y1: here.low, y2: here.high }),
        drawn("circle", { class: "mark", cx: here.x, cy: here.y, r: 4.5 }));
      sheet.cursor.setAttribute("visibility", "visible");
      showTip(() => {
        const frame = sheet.svg.getBoundingClientRect(), zoom = frame.width / sheet.svg.viewBox.baseVal.width;
        const top = frame.top + Math.min(here.high, here.y) * zoom;
        return { left: frame.left + here.x * zoom, width: 0, top, bottom: frame.top + here.low * zoom };
      }, labelOf(shown, 0, here.at), view, here.at);
    }
    function leave() { sheet.cursor.setAttribute("visibility", "hidden"); hideTip(); }
    box.addEventListener("pointermove", (event) => {
      const frame = sheet.svg.getBoundingClientRect(), to = ((event.clientX - frame.left) * sheet.svg.viewBox.baseVal.width) / frame.width;
      let best = 0;
      points.forEach((each, at) => { if (Math.abs(each.x - to) < Math.abs(points[best].x - to)) best = at; });
      point(best);
    });
    box.addEventListener("pointerleave", leave);
    box.addEventListener("focus", () => { if (box.matches(":focus-visible")) point(place); });
    box.addEventListener("blur", leave);
    box.addEventListener("keydown", (event) => {
      const far = Math.max(1, Math.round(kept.length / 10));
      const to = { ArrowLeft: place - 1, ArrowDown: place - 1, ArrowRight: place + 1, ArrowUp: place + 1, Home: 0, End: kept.length - 1,
        PageUp: place + far, PageDown: place - far }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      point(to);
    });
    box.setAttribute("aria-valuetext", said(kept[0]));
    const legend = [swatch("", "estimate"), swatch("band", facts.confidence + " interval of each point")];
    if (kept.some((at) => isUnclear(view, at))) legend.push(swatch("grey", "cannot be told from 0"));
    return { box, legend, said: "", placed() { sheet = draw(); new ResizeObserver(() => { sheet = draw(); }).observe(box); } };
  }

  // A map of two attributes: a table whose cells are coloured. It is its own alternative for screen readers.
  function drawMap(shown) {
    const { view } = shown;
    const flipped = shown.items[0].time && !shown.items[1].time; // time runs from left to right
    const [down, across] = flipped ? [1, 0] : [0, 1];
    const grid = new Map();
    for (const at of shown.kept) grid.set(shown.codes[down][at] + "," + shown.codes[across][at], at);
    const rows = sideOf(shown, down, MOST_ROWS, MOST_ROWS), columns = sideOf(shown, across, MOST_COLUMNS, MOST_STEPS);
    const worths = [];
    for (const row of rows.codes) for (const column of columns.codes) {
      const at = grid.get(row + "," + column);
      if (at !== undefined && !isUnclear(view, at) && view.estimate[at] > 0) worths.push(view.estimate[at]);
    }
    worths.sort((a, b) => a - b);
    const least = worths[0] ?? 0, most = worths.at(-1) ?? 1, middle = worths[worths.length >> 1] ?? 1;
    const skewed = most > SKEWED * middle && least > 0;
    const strength = (value) => skewed ? Math.log(value / least) / Math.log(most / least) : value / most;
    const few = columns.codes.length <= FEW, fewest = columns.codes.length <= FEWEST;
    const size = columns.codes.length > MOST_COLUMNS ? " many" : few ? " few" + (fewest ? " fewest" : "") : "";
    const table = make("table", { class: "heat" + size });
    table.append(make("caption", { class: "hidden", text: titleOf(shown) }));
    const every = Math.max(1, Math.ceil(columns.codes.length / 42));
    const corner = make("td", { class: "none" });
    corner.style.width = Math.min(24, 1 + Math.max(...rows.codes.map((code) => shown.items[down].labels[code].length))) + "ch";
    table.style.minWidth = `calc(${corner.style.width} + ${columns.codes.length * NARROWEST}px)`;
    const head = make("tr", {}, corner);
    columns.codes.forEach((code, place) => {
      const text = shown.items[across].labels[code];
      head.append(make("th", { scope: "col" }, make("span", { text, title: text, class: place % every ? "hidden" : "" })));
    });
    table.append(make("thead", {}, head));
    const body = make("tbody"), cells = [];
    for (const row of rows.codes) {
      const text = shown.items[down].labels[row];
      const line = make("tr", {}, make("th", { scope: "row", text, title: text }));
      for (const column of columns.codes) {
        const at = grid.get(row + "," + column), cell = make("td", { tabindex: "-1" });
        if (at === undefined) {
          cell.className = "none";
          cell.append(make("span", { class: "hidden", text: "not among the groups on this page" }));
        } else {
          const value = view.estimate[at];
          if (isUnclear(view, at)) cell.className = "unclear";
          else if (value < 0) cell.className = "below";
          else {
            const share = 100 * strength(value);
            cell.style.setProperty("--share", share.toFixed(1) + "%");
            cell.className = share > 70 ? "deep" : share > 40 ? "middle" : "faint";
          }
          cell.dataset.at = at;
          cell.append(make("span", { class: few ? "value" : "hidden", text: number(value, view.decimals) }),
            make("span", { class: "hidden", text: " (" + intervalOf(view, at) + ")" + (isUnclear(view, at) ? ", cannot be told from 0" : "") }));
          pointed(cell, text + BETWEEN + shown.items[across].labels[column], view, at);
        }
        cells.push(cell);
        line.append(cell);
      }
      body.append(line);
    }
    table.append(body);
    if (cells.length) cells[0].tabIndex = 0;
    table.addEventListener("keydown", roving(cells, columns.codes.length));
    const box = make("div", { class: "heat-scroll", tabindex: "0", role: "region", "aria-label": "Map, which may be scrolled" }, table);
    const legend = [make("span", {}, number(Math.round(skewed ? least : 0), view.decimals), make("i", { class: "swatch ramp" }), number(Math.round(most), view.decimals) + (skewed ? " (equal steps are equal factors)" : ""))];
    if (shown.kept.some((at) => isUnclear(view, at))) legend.push(swatch("vague", "cannot be told from 0"));
    if (shown.kept.some((at) => !isUnclear(view, at) && view.estimate[at] < 0)) legend.push(swatch("below", facts.signed ? "below 0" : "below 0, which only noise can be"));
    if (cells.some((cell) => cell.className === "none")) legend.push(swatch("none", "not among the largest groups"));
    const said = [rows, columns].filter((side) => side.said).map((side) => side.said);
    const ask = "Point at a square, or move with the arrow keys, to see its interval.";
    return { box, legend, said: [...said, ask].join(" ") };
  }
  function sideOf(shown, side, mostListed, mostOrdered) {
    const item = shown.items[side], best = new Map();
    for (const at of shown.kept) {
      const code = shown.codes[side][at];
      best.set(code, Math.max(best.get(code) ?? -Infinity, shown.view.estimate[at]));
    }
    const all = [...best.keys()].sort((a, b) => a - b);
    const most = item.ordered ? mostOrdered : mostListed;
    if (all.length <= most) return { codes: all, said: "" };
    if (item.ordered) return { codes: all.slice(0, most), said: `The picture shows the first ${most} of ${all.length.toLocaleString("en-US")} values of ${item.label}; choose others below the controls.` };
    const largest = all.sort((a, b) => best.get(b) - best.get(a)).slice(0, most);
    return { codes: largest.sort((a, b) => a - b), said: `The picture shows the ${most} values of ${item.label} with the largest groups; the other ${(all.length - most).toLocaleString("en-US")} are in the table.` };
  }

  const PICTURES = { bars: ["Bars", drawBars], line: ["Line", drawLine], map: ["Map", drawMap] };
  function possible(shown) {
    if (shown.items.length === 2) return ["map", "bars"];
    if (inOrder(shown)) return shown.items[0].line ? ["line", "bars"] : ["bars", "line"];
    return ["bars"];
  }
  function titleOf(shown) {
    const what = facts.measured[0].toUpperCase() + facts.measured.slice(1);
    return what + " by " + shown.items.map((item) => item.label).join(" and ") + (shown.said ? ", where " + shown.said : "");
  }

  function showPicture(shown) {
    const kinds = possible(shown), kind = kinds.includes(state.picture) ? state.picture : kinds[0];
    const select = byId("picture");
    select.replaceChildren(...kinds.map((each) => make("option", { value: each, text: PICTURES[each][0] })));
    select.value = kind;
    byId("picture-label").hidden = kinds.length < 2;
    byId("picture-title").textContent = titleOf(shown);
    const place = byId("drawing");
    hideTip();
    if (!shown.kept.length) {
      byId("legend").replaceChildren();
      byId("picture-said").textContent = "No group is chosen.";
      place.replaceChildren();
      return;
    }
    const made = PICTURES[kind][1](shown);
    place.replaceChildren(made.box);
    if (made.placed) made.placed();
    byId("legend").replaceChildren(...made.legend);
    const cut = shown.view.complete === false
      ? `This page holds the ${many(shown.view.estimate.length, "largest group", "largest groups")} of ${shown.view.groups.toLocaleString("en-US")}; the others are smaller and left out.` : "";
    const vague = shown.view.vague && !shown.condition ? "Most margins are wider than the largest number: this release says little about these groups." : "";
    byId("picture-said").textContent = [vague, cut, made.said].filter(Boolean).join(" ");
  }

  // The table.
  const order = new Intl.Collator("en", { numeric: true });
  const ENDS = [["estimate", "Estimate"], ["low", "From"], ["high", "To"]];
  function sorted(shown) {
    const wanted = state.search.trim().toLowerCase(), { view } = shown;
    const rows = shown.kept.filter((at) => !wanted || shown.items.some((_, side) => labelOf(shown, side, at).toLowerCase().includes(wanted)));
    const sort = state.sort ?? (inOrder(shown) ? { by: 0, down: false } : { by: "estimate", down: true });
    const compare = typeof sort.by === "number"
      ? shown.items[sort.by].ordered
        ? (a, b) => shown.codes[sort.by][a] - shown.codes[sort.by][b]
        : (a, b) => order.compare(labelOf(shown, sort.by, a), labelOf(shown, sort.by, b))
      : (a, b) => endOf(view, sort.by, a) - endOf(view, sort.by, b);
    rows.sort((a, b) => (sort.down ? compare(b, a) : compare(a, b)) || a - b);
    return { rows, sort };
  }
  const endOf = (view, end, at) => view[end][at] ?? (end === "low" ? -Infinity : Infinity);

  function showTable(shown) {
    const { view } = shown, { rows, sort } = sorted(shown);
    const heading = (by, text, numeric) => {
      const button = make("button", { type: "button", text });
      button.addEventListener("click", () => {
        state.sort = { by, down: sort.by === by ? !sort.down : typeof by !== "number" };
        state.rows = FIRST_PAGE;
        showTable(shown);
        for (const each of byId("table").querySelectorAll("th button")) if (each.textContent === text) each.focus();
      });
      const way = sort.by === by ? (sort.down ? "descending" : "ascending") : "none";
      return make("th", { scope: "col", class: numeric ? "number" : null, "aria-sort": way }, button);
    };
    const head = make("tr", {}, ...shown.items.map((item, side) => heading(side, item.label, false)),
      ...ENDS.map(([end, text]) => heading(end, text, true)));
    const remarked = shown.kept.some((at) => isUnclear(view, at));
    if (remarked) head.append(make("th", { scope: "col", text: "Remark" }));
    byId("table").tHead.replaceChildren(head);
    byId("table").tBodies[0].replaceChildren(...rows.slice(0, state.rows).map((at) => {
      const line = make("tr", { class: isUnclear(view, at) ? "unclear" : null });
      shown.items.forEach((_, side) => line.append(make(side ? "td" : "th", { scope: side ? null : "row", class: shown.items[side].ordered ? "tight" : null, text: labelOf(shown, side, at) })));
      for (const [end] of ENDS) line.append(make("td", { class: "number", text: number(view[end][at], view.decimals) }));
      if (remarked) line.append(make("td", { text: isUnclear(view, at) ? "cannot be told from 0" : "" }));
      return line;
    }));
    const all = shown.kept.length;
    let said = rows.length < all ? `${rows.length.toLocaleString("en-US")} of ${many(all, "group matches", "groups match")}.` : many(all, "group", "groups") + ".";
    if (rows.length > state.rows) said += ` The first ${state.rows.toLocaleString("en-US")} are shown.`;
    byId("table-said").textContent = said;
    const left = rows.length - state.rows, more = byId("more");
    more.hidden = left <= 0;
    more.textContent = `Show ${Math.min(left, NEXT_PAGE).toLocaleString("en-US")} more`;
    byId("note").textContent = `Intervals have ${facts.confidence} confidence. ${view.note}`;
  }

  // CSV: what the table lists, in its order, whole. A text that a spreadsheet would run as a formula gets a quote.
  function csvOf(shown) {
    const { view } = shown, { rows } = sorted(shown);
    const cell = (text) => {
      const safe = /^[=+\-@\t\r]/.test(text) && !/^[+-]?\d+(\.\d+)?$/.test(text) ? "'" + text : text;
      return /[",\r\n]/.test(safe) || safe !== safe.trim() ? '"' + safe.replaceAll('"', '""') + '"' : safe;
    };
    const head = [...shown.items.map((item) => cell(item.name)), "estimate", "low", "high"];
    const lines = rows.map((at) => [
      ...shown.items.map((_, side) => cell(labelOf(shown, side, at).replaceAll(MINUS, "-"))),
      ...ENDS.map(([end]) => plain(view[end][at], view.decimals)),
    ].join(","));
    return [head.join(","), ...lines].join("\r\n") + "\r\n";
  }
  function download() {
    const shown = current();
    const words = [facts.title, ...shown.items.map((item) => item.name), shown.said].join(" ").toLowerCase();
    const name = (words.replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "").slice(0, 80) || "table") + ".csv";
    const address = URL.createObjectURL(new Blob([csvOf(shown)], { type: "text/csv;charset=utf-8" }));
    const link = make("a", { href: address, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  }

  // Which values are shown: a range of ordered ones, ticks of others.
  function showPicks(shown) {
    const body = byId("picks-body");
    body.replaceChildren(...shown.items.map((item) => {
      const box = make("fieldset", {}, make("legend", { text: item.label }));
      box.append(...(item.ordered ? rangeOf(item) : ticksOf(item)));
      return box;
    }));
    tellPicks(shown.items);
  }
  function tellPicks(items) {
    const some = items.filter((item) => state.picks.has(item));
    byId("picked").textContent = some.length ? "(chosen: " + some.map((item) => {
      const pick = state.picks.get(item), count = Array.isArray(pick) ? pick[1] - pick[0] + 1 : pick.size;
      return `${count.toLocaleString("en-US")} of ${item.labels.length.toLocaleString("en-US")} of ${item.label}`;
    }).join(", ") + ")" : "(all)";
  }
  function picked(item, pick) {
    const all = pick === null || (Array.isArray(pick) ? pick[0] === 0 && pick[1] === item.labels.length - 1 : pick.size === item.labels.length);
    if (all) state.picks.delete(item); else state.picks.set(item, pick);
    state.rows = FIRST_PAGE;
    const shown = current();
    tellPicks(shown.items);
    showPicture(shown);
    showTable(shown);
  }
  function rangeOf(item) {
    const last = item.labels.length - 1, [from, to] = state.picks.get(item) ?? [0, last];
    if (last > 5_000) return [make("p", { class: "hint", text: "Too many values to list: search in the table." })];
    const select = (text, value) => {
      const made = make("select", {}, ...item.labels.map((label, code) => make("option", { value: code, text: label })));
      made.value = value;
      return { made, label: make("label", {}, text, made) };
    };
    const start = select("from", from), end = select("to", to);
    const change = (moved) => () => {
      let [low, high] = [Number(start.made.value), Number(end.made.value)];
      if (low > high) { if (moved === start) high = low; else low = high; }
      start.made.value = low;
      end.made.value = high;
      picked(item, [low, high]);
    };
    start.made.addEventListener("change", change(start));
    end.made.addEventListener("change", change(end));
    return [make("div", { class: "row" }, start.label, end.label)];
  }
  function ticksOf(item) {
    const find = make("input", { type: "search", spellcheck: "false" }), ticks = make("div", { class: "ticks", tabindex: "0", role: "group", "aria-label": "Values of " + item.label });
    const chosen = () => state.picks.get(item) ?? new Set(item.labels.keys());
    const said = make("p", { class: "hint" });
    function list() {
      const wanted = find.value.trim().toLowerCase(), now = chosen();
      const codes = [...item.labels.keys()].filter((code) => !wanted || item.labels[code].toLowerCase().includes(wanted));
      ticks.replaceChildren(...codes.slice(0, MOST_TICKS).map((code) => {
        const tick = make("input", { type: "checkbox" });
        tick.checked = now.has(code);
        tick.addEventListener("change", () => {
          const next = new Set(chosen());
          if (tick.checked) next.add(code); else next.delete(code);
          picked(item, next);
        });
        return make("label", {}, tick, item.labels[code]);
      }));
      said.textContent = codes.length > MOST_TICKS ? `The first ${MOST_TICKS} of ${codes.length.toLocaleString("en-US")} are listed: search for others.` : "";
    }
    const button = (text, pick) => {
      const made = make("button", { type: "button", text });
      made.addEventListener("click", () => { picked(item, pick()); list(); });
      return made;
    };
    find.addEventListener("input", list);
    list();
    return [make("div", { class: "row" }, make("label", {}, "Find", find), button("All", () => null), button("None", () => new Set())), ticks, said];
  }

  // The controls.
  const option = (value, text) => make("option", { value, text });
  function fill(select, options, value) {
    select.replaceChildren(...options);
    select.value = value;
  }
  function showControls() {
    const singles = facts.items.map((_, item) => item).filter((item) => numberOf.has(String(item)));
    const larger = facts.views.map((_, place) => place).filter((place) => facts.views[place].items.length > 2);
    const first = singles.map((item) => option("i" + item, facts.items[item].label));
    first.push(...larger.map((place) => option("v" + place, facts.views[place].items.map((item) => facts.items[item].label).join(BETWEEN))));
    if (state.own !== null) first.push(option("own", "your own question"));
    fill(byId("first"), first, state.own !== null ? "own" : state.first);
    const alone = state.own === null && state.first.startsWith("i"), one = alone ? Number(state.first.slice(1)) : null;
    const partners = alone ? facts.items.map((_, item) => item).filter((item) => item !== one && numberOf.has(keyOf([one, item]))) : [];
    fill(byId("second"), [option("", "nothing else"), ...partners.map((item) => option(item, facts.items[item].label))], state.second ?? "");
    byId("second").disabled = !partners.length;
    const sides = alone ? (state.second === null ? [one] : [one, state.second]) : [];
    const conditions = alone ? facts.items.map((_, item) => item).filter((item) => !sides.includes(item) && completeAt([...sides, item])) : [];
    fill(byId("where"), [option("", "no condition"), ...conditions.map((item) => option(item, facts.items[item].label))], state.where ?? "");
    byId("where").disabled = !conditions.length;
    byId("value-label").hidden = state.where === null;
    if (state.where !== null) fill(byId("value"), facts.items[state.where].labels.slice(0, 5_000).map((label, code) => option(code, label)), state.value);
  }
  function completeAt(items) {
    const place = numberOf.get(keyOf(items));
    return place !== undefined && facts.views[place].complete;
  }
  function show() {
    showControls();
    const shown = current();
    showPicks(shown);
    showPicture(shown);
    showTable(shown);
  }
  function changed(change) {
    change();
    state.sort = null;
    state.rows = FIRST_PAGE;
    show();
  }
  function reset() {
    state.own = null;
    state.picks.clear();
  }
  byId("first").addEventListener("change", (event) => {
    if (event.target.value === "own") return;
    changed(() => {
      reset();
      state.first = event.target.value;
      const one = Number(state.first.slice(1));
      if (state.first.startsWith("v") || state.second === one || !numberOf.has(keyOf([one, state.second ?? -1]))) state.second = null;
      forget();
    });
  });
  byId("second").addEventListener("change", (event) => changed(() => {
    reset();
    state.second = event.target.value === "" ? null : Number(event.target.value);
    forget();
  }));
  byId("where").addEventListener("change", (event) => changed(() => {
    state.where = event.target.value === "" ? null : Number(event.target.value);
    state.value = 0;
  }));
  byId("value").addEventListener("change", (event) => changed(() => { state.value = Number(event.target.value); }));
  byId("picture").addEventListener("change", (event) => {
    state.picture = event.target.value;
    showPicture(current());
  });
  byId("search").addEventListener("input", (event) => {
    state.search = event.target.value;
    state.rows = FIRST_PAGE;
    showTable(current());
  });
  byId("more").addEventListener("click", () => {
    state.rows += NEXT_PAGE;
    showTable(current());
  });
  byId("csv").addEventListener("click", download);
  function forget() { // a condition that the new question has no answer for
    const one = state.first.startsWith("i") ? [Number(state.first.slice(1))] : [];
    const sides = state.second === null ? one : [...one, state.second];
    if (state.where !== null && (sides.includes(state.where) || !completeAt([...sides, state.where]))) state.where = null;
  }

  // A question of one's own, where a server answers.
  async function ask(event) {
    event.preventDefault();
    const said = byId("ask-said");
    said.textContent = "Asking …";
    try {
      const reply = await fetch("ask", { method: "POST", headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ by: byId("ask-by").value, where: byId("ask-where").value }) });
      const answer = await reply.json();
      if (answer.error !== undefined) {
        said.textContent = answer.error.charAt(0).toUpperCase() + answer.error.slice(1);
        return;
      }
      if (answer.total !== undefined) {
        said.textContent = `${answer.total.value} (${facts.confidence} interval: ${answer.total.low} to ${answer.total.high}). ${answer.total.note}`;
        return;
      }
      said.textContent = "Answered below.";
      changed(() => { reset(); state.own = opened({ ...answer.view, where: answer.where }, answer.items); });
    } catch {
      said.textContent = "There was no answer. Is `hushtable explore` still running?";
    }
  }

  // The words around.
  function write() {
    document.title = facts.title;
    byId("title").textContent = facts.title;
    if (facts.total !== null) {
      const total = byId("total");
      total.append("About ", make("strong", { text: facts.total.value }), ` in all (${facts.confidence} interval ${facts.total.low} to ${facts.total.high}).`);
      total.hidden = false;
    }
    for (const id of ["counted", "prepared"]) byId(id).append(...facts[id].map((text) => make("p", { text })));
    byId("guarantee-short").textContent = `Protected by ${facts.privacy}, ${facts.paid}`;
    byId("guarantee").textContent = facts.guarantee;
    byId("warnings").append(...facts.warnings.map((text) => make("p", { text })));
    byId("warnings").hidden = !facts.warnings.length;
    byId("odds-cost").textContent = facts.paid;
    for (const side of ["out", "in"]) {
      const count = facts.odds[side], dots = byId("dots-" + side);
      byId("odds-" + side).textContent = count;
      dots.append(...Array.from({ length: 100 }, (_, place) => make("i", { class: place < count ? "on" : "" })));
      dots.setAttribute("aria-label", `${count} of 100 dots are filled`);
    }
    byId("odds-also").textContent = facts.odds.also;
    byId("odds-verdict").textContent = facts.odds.verdict;
    byId("confidence").textContent = facts.confidence;
    byId("accuracy").tBodies[0].append(...facts.accuracy.map((row) => make("tr", {},
      make("th", { scope: "row", text: row.table }), make("td", { class: "number", text: row.groups }),
      make("td", { class: "number", text: row.margin }), make("td", { class: "number", text: row.unclear }), make("td", { text: row.published }))));
    byId("left-out").hidden = !facts.leftOut.length;
    byId("left-out").querySelector("ul").append(...facts.leftOut.map((each) => make("li", { text: `By ${each.table}: ${each.why}.`.replace("..", ".") })));
    byId("cautions").append(...facts.cautions.map((text) => make("li", { text })));
    byId("entries").append(...facts.dictionary.map((entry) => {
      const made = make("div", { class: "entry" }, make("h3", { text: entry.name }), make("p", { text: entry.values }));
      if (entry.levels.length) made.append(make("p", { class: "hint", text: "Coarser levels: " + entry.levels.join(", ") }));
      made.append(make("p", { class: "hint", text: `Rows without a value: ${entry.missing}. Rows with a value that is not declared: ${entry.outside}.` }));
      if (entry.listed.length) {
        const list = make("ul", {}, ...entry.listed.map(([value, label]) => make("li", { text: label ? `${value}: ${label}` : value })));
        if (entry.more) list.append(make("li", { text: `and ${entry.more.toLocaleString("en-US")} more` }));
        made.append(make("details", {}, make("summary", { text: "All values" }), list));
      }
      return made;
    }));
    byId("citation").textContent = facts.cite;
    byId("size").textContent = facts.size + ".";
    byId("made-by").textContent = "hushtable " + facts.version;
    byId("file").textContent = facts.file;
  }

  write();
  if (facts.asking) {
    byId("sealed").textContent = "It is served on this machine alone, and sends questions to the program that serves it.";
    byId("ask").hidden = false;
    byId("ask").addEventListener("submit", ask);
  }
  if (facts.start !== null) {
    const items = facts.views[facts.start].items;
    state.first = items.length > 2 ? "v" + facts.start : "i" + items[0];
    if (items.length === 2) state.second = items[1];
    show();
  } else {
    for (const id of ["choices", "figure"]) byId(id).hidden = true;
    byId("table-said").textContent = "This release answers no question that a page could hold. Ask it with hushtable query.";
    byId("csv").hidden = true;
  }
  addEventListener("beforeprint", () => { for (const each of document.querySelectorAll("details:not(#picks)")) each.open = true; });
})();

"use strict";
// The page's own script: the table of queries, a query side by side, keys, light and dark. Text is only ever set as
// text, never as markup.
(() => {
  const PAGE = 20;
  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];

  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (value === true) element.setAttribute(name, "");
      else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
    }
    element.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
    return element;
  };

  // Control characters as symbols of theirs and marks that turn text around as escapes: nothing is invisible.
  const visible = (text) =>
    String(text).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]|\r(?!\n)/g, (one) =>
      one < " " ? String.fromCharCode(0x2400 + one.charCodeAt(0))
        : one < "\u00a0" ? "\u2421" : `\\u${one.charCodeAt(0).toString(16)}`);
  const named = (text, kind = "name") => make("bdi", { class: kind }, visible(text));

  // As toFixed, but exact halves go to the even digit, as in Python: 0.0625 is 0.062.
  const fixed = (value, digits) => {
    const isHalf = Math.abs(value * 2 ** (digits + 1)) % 2 === 1;
    return (isHalf ? 2 * Math.round(value * 10 ** digits / 2) / 10 ** digits : value).toFixed(digits);
  };
  // Numbers have the digits that show them here as if they were exact: see rounding.py.
  const number = (value, digits = 3) => {
    if (value === null || value === undefined) return "–";
    const size = Math.abs(value);
    const text = Number.isInteger(value) || size >= 1000 ? Number(fixed(value, 0)).toLocaleString("en")
      : size < 0.0005 && size >= 1e-6 ? value.toPrecision(3) : fixed(value, size >= 100 ? 1 : digits);
    return text.replace("-", /[1-9]/.test(text) ? "−" : "");
  };
  const signed = (value) => {
    if (value === null || value === undefined) return "";
    if (Math.abs(value) < 0.0005) return "0";
    return (value > 0 ? "+" : "") + number(value);
  };

  /* Light and dark */
  const themes = ["auto", "light", "dark"];
  const remembered = () => { try { return localStorage.getItem("rankjury-theme"); } catch { return null; } };
  const setTheme = (theme) => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    const button = $("#theme");
    if (button) button.textContent = `Theme: ${theme}`;
    try { localStorage.setItem("rankjury-theme", theme); } catch { /* a page opened from a file may not remember */ }
  };
  const nextTheme = () => {
    const now = document.documentElement.dataset.theme || "auto";
    setTheme(themes[(themes.indexOf(now) + 1) % themes.length]);
  };
  setTheme(themes.includes(remembered()) ? remembered() : "auto");
  $("#theme")?.addEventListener("click", nextTheme);
  const help = $("#help");
  $("#help-button")?.addEventListener("click", () => help.showModal());

  /* Panels of which one is shown */
  for (const select of $$("select[data-switch]")) {
    select.addEventListener("change", () => {
      for (const panel of $$(`[data-panel="${select.dataset.switch}"]`)) {
        panel.hidden = panel.dataset.number !== select.value;
      }
    });
  }

  /* On a phone a table is a list: each cell has the name of its column beside it */
  const labelled = (table) => {
    const names = $$("thead th, thead td", table).map((cell) => ($("bdi", cell) ?? cell).textContent.trim());
    for (const row of $$("tbody tr", table)) {
      [...row.children].forEach((cell, at) => {
        if (cell.tagName !== "TD") return;
        cell.classList.toggle("blank", !cell.textContent.trim() && !$("input", cell));
        if (names[at]) cell.dataset.label = names[at].replace(/,|(?<=\S)\(|(?=@)/g, "$&\u200b"); // measures break there, if at all
      });
    }
    table.classList.add("stacked");
  };
  const phone = matchMedia("(max-width: 40rem)");
  const stack = (tables) => { if (phone.matches) tables.forEach(labelled); };
  const stackAll = () => stack($$(".scroll > table:not(.conventions, .provenance, #choice table)"));
  phone.addEventListener("change", stackAll);
  stackAll();

  /* On paper everything is open */
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = $$("details:not([open])");
    for (const one of opened) one.open = true;
  });
  addEventListener("afterprint", () => { for (const one of opened) one.open = false; });

  const typing = (event) => /^(input|select|textarea)$/i.test(event.target.tagName) || event.target.isContentEditable;
  const plain = (event) => !event.ctrlKey && !event.metaKey && !event.altKey;
  const keys = new Map();
  addEventListener("keydown", (event) => {
    if (!plain(event) || (help && help.open)) return;
    // A field of a search is emptied by Escape, but the page would not be told: it would go on filtering.
    if (event.key === "Escape" && typing(event)) { event.preventDefault(); event.target.blur(); return; }
    if (typing(event)) return;
    const act = keys.get(event.key);
    if (act && act(event) !== false) event.preventDefault();
  });
  keys.set("?", () => help?.showModal());
  keys.set("t", nextTheme);
  keys.set("/", () => { const filter = $("#filter"); if (!filter) return false; filter.focus(); filter.select(); });
  globalThis.rankjury = { $, $$, make, visible, named, number, signed, keys };

  const holder = $("#about");
  if (!holder) return;
  const about = JSON.parse(holder.textContent);
  if (!about.api && !$("#table")) return; // a report that was made without its queries
  const many = about.many;
  // Which system another is compared with: the report's baseline, or its own earlier self where runs are compared.
  const baseOf = (at) => (about.bases ? about.bases[at] : about.baseline);
  const against = about.against ?? "the baseline";
  const places = about.systems.map((_, at) => at); // the baseline comes first
  if (about.baseline > 0) places.unshift(...places.splice(about.baseline, 1));

  /* Where rows and queries come from: blocks in this file, or the server that it came from. Both answer alike. */
  const inflate = async (text) => {
    const octets = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([octets]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  };

  // Whole numbers were written as digits to the base 90, one string a digit: see planes.py.
  const digit = (letter) => letter - 35 - (letter > 92 ? 1 : 0);
  const numbers = (planes) => {
    const found = new Array(planes[0].length);
    for (let at = 0; at < found.length; at += 1) {
      let value = 0;
      for (let plane = planes.length - 1; plane >= 0; plane -= 1) value = value * 90 + digit(planes[plane].charCodeAt(at));
      found[at] = value;
    }
    return found;
  };

  const fromFile = () => {
    const BLOCK = 100;
    const blocks = $$("script.block");
    let table = null;
    const opened = new Map();
    const ready = (async () => {
      table = await inflate($("#table").textContent);
      table.searched = table.ids.map((id, row) => `${id}\n${table.texts ? table.texts[row] ?? "" : ""}`.toLowerCase());
      table.members = table.slices.map((rows) => new Set(numbers(rows)));
      table.order = table.order ? numbers(table.order) : null;
      table.row = new Map(table.ids.map((id, row) => [id, row]));
    })();
    // Ids and names of items come when the table is there: the first query that is opened needs them.
    const items = ready.then(async () => {
      if (!blocks.length) return null;
      const ids = await inflate($("#items").textContent);
      const names = new Map();
      if ($("#names")) {
        const packed = await inflate($("#names").textContent);
        let place = 0;
        numbers(packed.gaps).forEach((gap, at) => { place += gap; names.set(place, packed.names[at]); });
      }
      return { ids, names };
    });
    const difference = (system, label, row) => {
      const [before, after] = [table.scores[baseOf(system)][label][row], table.scores[system][label][row]];
      return before === null || after === null ? null : Math.round((after - before) * 1e9) / 1e9;
    };
    const gain = (system, label, row) => {
      const change = difference(system, label, row);
      return change === null || !about.lower[label] ? change : -change;
    };
    const busy = about.compared.filter((system) => !(about.idle ?? []).includes(system));
    const asked = busy.length ? busy : about.compared;
    const worst = (label, row, pick) => {
      const found = asked.map((system) => gain(system, label, row)).filter((one) => one !== null);
      return found.length ? pick(...found) : null;
    };
    const keyOf = (sort, label) => {
      const [kind, system] = sort.split(":");
      if (kind === "loss") return (row) => worst(label, row, Math.min);
      if (kind === "gain") return (row) => worst(label, row, Math.max);
      if (kind === "difference") return (row) => difference(Number(system), label, row);
      if (kind === "score") return (row) => table.scores[Number(system)][label][row];
      return (row) => (table.order ? table.order[row] : row);
    };
    const sorted = new Map();
    const all = (sort, down, label) => {
      const name = `${sort} ${down} ${label}`;
      if (!sorted.has(name)) {
        const key = keyOf(sort, label);
        const keyed = table.ids.map((_, row) => [key(row), row]);
        keyed.sort(([one, row], [other, beside]) => {
          if (one === other) return table.order ? table.order[row] - table.order[beside] : row - beside;
          if (one === null) return 1;
          if (other === null) return -1;
          return down ? other - one : one - other;
        });
        if (sorted.size > 20) sorted.clear();
        sorted.set(name, keyed.map(([, row]) => row));
      }
      return sorted.get(name);
    };
    const listed = async ({ sort, down, label, text, slice }) => {
      await ready;
      const wanted = text.trim().toLowerCase();
      const members = slice === "" ? null : table.members[Number(slice)];
      return all(sort, down, label).filter((row) =>
        (!wanted || table.searched[row].includes(wanted)) && (!members || members.has(row)));
    };
    const rowOf = (row, label) => ({
      row, id: table.ids[row], text: table.texts ? table.texts[row] : null,
      values: table.scores.map((columns) => columns[label][row]),
    });
    return {
      async rows(asked) {
        const found = await listed(asked);
        let offset = asked.offset;
        if (asked.find) {
          const place = found.indexOf(table.row.get(asked.find));
          if (place >= 0) offset = place - (place % asked.limit);
        }
        const shown = found.slice(offset, offset + asked.limit);
        return { total: found.length, offset, rows: shown.map((row) => rowOf(row, asked.label)) };
      },
      async query(id) {
        await ready;
        const row = table.row.get(id);
        if (row === undefined) return null;
        const number = Math.floor(row / BLOCK);
        const found = {
          row, id, text: table.texts ? table.texts[row] : null, golds: [], systems: [],
          slices: table.members.flatMap((members, at) => (members.has(row) ? [about.slices[at]] : [])),
          scores: Object.fromEntries(about.systems.map((name, at) =>
            [name, Object.fromEntries(about.labels.map((label, which) => [label, table.scores[at][which][row]]))])),
          held: number < blocks.length,
        };
        if (!found.held) return found;
        if (!opened.has(number)) {
          if (opened.size > 30) opened.clear();
          opened.set(number, inflate(blocks[number].textContent).then(decoded));
        }
        return unpacked(found, await opened.get(number), row % BLOCK, await items);
      },
    };
  };

  const begins = (lengths) => {
    let sum = 0;
    return lengths.map((length) => { sum += length; return sum - length; });
  };
  const decodedList = (part) => {
    const lengths = numbers(part.lengths);
    const starts = begins(lengths);
    let scores = null;
    if (part.scores) {
      scores = numbers(part.scores.falls).map((fall) => fall + part.scores.lowest);
      numbers(part.scores.decimals).map((one) => one - 400).forEach((decimals, query) => {
        const [first, end] = [starts[query], starts[query] + lengths[query]];
        for (let at = first + 1; at < end; at += 1) scores[at] = scores[at - 1] - scores[at];
        for (let at = first; at < end; at += 1) {
          scores[at] = decimals > 0 ? Number((scores[at] / 10 ** decimals).toFixed(decimals)) : scores[at] * 10 ** -decimals;
        }
      });
      for (const at of part.scores.unknown) scores[at] = null;
    }
    const read = (name) => numbers(part[name]);
    return { lengths, starts, scores, places: read("places"), total: read("total"), grades: read("grades"), gaps: read("gaps") };
  };
  const decoded = (block) => {
    const sizes = numbers(block.sizes);
    return {
      starts: begins(sizes), union: numbers(block.union), grades: [null, ...block.grades],
      golds: block.golds.map(decodedList), systems: block.systems.map(decodedList), keywords: block.keywords,
    };
  };
  const unpacked = (found, block, place, items) => {
    const lists = (parts) => parts.map((part) => {
      const listed = [];
      const first = part.starts[place];
      for (let at = first; at < first + part.lengths[place]; at += 1) {
        const item = block.union[block.starts[place] + part.places[at]];
        listed.push({
          id: items.ids[item], name: items.names.get(item) ?? null, rank: at - first + 1 + part.gaps[at],
          score: part.scores ? part.scores[at] : null, grade: block.grades[part.grades[at]],
        });
      }
      return { total: part.total[place], items: listed };
    });
    found.golds = lists(block.golds).map((one, at) => ({ name: about.golds[at], ...one }));
    found.systems = lists(block.systems).map((one, at) => {
      const keywords = block.keywords ? block.keywords[at][place] : null;
      return { name: about.ranking[at], gold: about.gold_of[at], ...one, ...(keywords ? { keywords } : {}) };
    });
    return found;
  };

  const fromServer = () => {
    const ask = async (what, parameters) => {
      const answer = await fetch(`${about.api}/${what}?${new URLSearchParams(parameters)}`);
      if (answer.status === 404) return null;
      if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`);
      return answer.json();
    };
    return {
      rows: ({ label, ...asked }) => ask("rows", { ...asked, label: about.labels[label] }),
      query: (id) => ask("query", { id }),
    };
  };
  const source = about.api ? fromServer() : fromFile();
  globalThis.rankjury.source = source;

  /* The table of queries */
  const state = {
    label: 0, sort: about.compared.length ? "loss" : "score:0", down: !about.compared.length && about.lower[0],
    text: "", slice: "", offset: 0, limit: PAGE, at: -1, rows: [], total: 0,
  };
  const head = $("#query-table thead");
  const body = $("#query-table tbody");
  let asking = 0;

  const option = (value, text) => make("option", { value }, visible(text));
  $("#measure").append(...about.labels.map((label, at) => option(at, label)));
  const orders = [
    ...(about.compared.length ? [["loss", "largest losses first"], ["gain", "largest gains first"]] : []),
    ["score:0 worst", `worst of ${about.systems[0]} first`], ["score:0 best", `best of ${about.systems[0]} first`],
    ["row", "by id"], ["", "by the heading chosen"],
  ];
  $("#order").append(...orders.map(([value, text]) => option(value, text)));
  $("#slice").append(option("", `all ${many}`), ...about.slices.map((name, at) => option(at, name)));
  $("#slice-label").hidden = !about.slices.length;
  if (about.notes.length) {
    $("#left-out").textContent = `To limit its size, this page has only: ${about.notes.join(", ")}. rankjury view shows everything of an archived run.`;
    $("#left-out").hidden = false;
  }

  const heading = (text, sort, title) => {
    const isAt = state.sort === sort;
    const button = make("button", { type: "button", "data-sort": sort, title },
      text, isAt ? (state.down ? " ▼" : " ▲") : "");
    return [button, isAt ? (state.down ? "descending" : "ascending") : null];
  };
  const drawHead = () => {
    const cells = [];
    const [first, order] = heading(about.one, "row", "sort by id");
    cells.push(make("th", { scope: "col", "aria-sort": order }, first));
    places.forEach((at) => {
      const name = named(about.systems[at]);
      const [score, byScore] = heading(name, `score:${at}`, "sort by score");
      const parts = [score];
      let sorted = byScore;
      if (about.compared.includes(at)) {
        const [difference, byDifference] = heading("Δ", `difference:${at}`, `sort by the difference from ${against}`);
        difference.setAttribute("aria-label", `difference of ${name.textContent}`);
        parts.push(" ", difference);
        sorted = sorted || byDifference;
      }
      cells.push(make("th", { scope: "col", class: "number", "aria-sort": sorted }, ...parts));
    });
    head.replaceChildren(make("tr", {}, ...cells));
  };
  const score = (value) => (value === 0 || value === 1 ? value.toFixed(3) : number(value)); // 1.000 under 0.964
  const cell = (values, at) => {
    const value = make("span", {}, score(values[at]));
    if (!about.compared.includes(at)) return make("td", { class: "number" }, value);
    const [before, after] = [values[baseOf(at)], values[at]];
    return make("td", { class: "number" }, value, " ", change(before, after, state.label));
  };
  // How much better or worse, in a colour of its own where the shown figure is not 0.
  const change = (before, after, label) => {
    if (before === null || after === null) return null;
    const text = signed(after - before);
    if (text === "0") return null;
    const kind = (after > before) !== about.lower[label] ? "better" : "worse";
    return make("span", { class: `small difference ${kind}` }, text);
  };
  const link = (id) => `#query=${encodeURIComponent(wellFormed(id))}`;
  const wellFormed = (text) => (text.toWellFormed ? text.toWellFormed() : text);
  const drawRows = () => {
    body.replaceChildren(...state.rows.map((row) => make("tr", { "data-query": row.id },
      make("th", { scope: "row" },
        make("a", { href: link(row.id) }, named(row.text ?? row.id, "clamp")),
        row.text === null ? null : make("span", { class: "small id" }, named(row.id))),
      ...places.map((at) => cell(row.values, at)))));
    const last = Math.min(state.offset + state.limit, state.total);
    $("#range").textContent = state.total
      ? `${(state.offset + 1).toLocaleString("en")}–${last.toLocaleString("en")} of ${state.total.toLocaleString("en")}`
      : `no matching ${many}`;
    for (const button of $$("#pager button")) {
      const back = button.dataset.page === "first" || button.dataset.page === "back";
      button.disabled = back ? state.offset === 0 : last >= state.total;
    }
    for (const button of $$("#pager button")) button.hidden = state.total <= state.limit;
    mark();
  };
  const mark = () => {
    $$("tr.at", body).forEach((row) => row.classList.remove("at"));
    const row = body.children[state.at];
    if (row) row.classList.add("at");
    return row;
  };
  const tell = (error) => {
    body.replaceChildren(make("tr", {}, make("td", { colspan: about.systems.length + 1 },
      `The ${many} cannot be shown: ${error.message}. A newer browser may help.`)));
  };
  const load = async (changes = {}, find = null) => {
    Object.assign(state, changes);
    const mine = (asking += 1);
    try {
      const { sort, down, label, text, slice, offset, limit } = state;
      const found = await source.rows({ sort, down, label, text, slice, offset, limit, ...(find ? { find } : {}) });
      if (mine !== asking) return;
      Object.assign(state, found);
      drawHead();
      drawRows();
      stack([$("#query-table")]);
    } catch (error) {
      if (mine === asking) tell(error);
    }
  };
  head.addEventListener("click", (event) => {
    const button = event.target.closest("button[data-sort]");
    if (!button) return;
    const sort = button.dataset.sort;
    const down = state.sort === sort ? !state.down : sort !== "row" && about.lower[state.label]; // the worst first
    $("#order").value = "";
    load({ sort, down, offset: 0, at: -1 }).then(() => $(`button[data-sort="${sort}"]`, head)?.focus());
  });
  body.addEventListener("click", (event) => {
    const row = event.target.closest("tr[data-query]");
    if (row && !event.target.closest("a")) location.hash = link(row.dataset.query).slice(1);
  });
  // What the order that is chosen means under a measure; nothing where a heading was clicked.
  const ordered = (label) => {
    const [sort, which] = $("#order").value.split(" ");
    if (!sort) return {};
    const lower = about.lower[label];
    return { sort, down: sort === "gain" || (which === "best" && !lower) || (which === "worst" && lower) };
  };
  $("#order").addEventListener("change", () => load({ ...ordered(state.label), offset: 0, at: -1 }));
  $("#measure").addEventListener("change", (event) => {
    const label = Number(event.target.value);
    load({ label, ...ordered(label), offset: 0, at: -1 });
  });
  $("#slice").addEventListener("change", (event) => load({ slice: event.target.value, offset: 0, at: -1 }));
  let waiting = null;
  $("#filter").addEventListener("input", (event) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => load({ text: event.target.value, offset: 0, at: -1 }), about.api ? 150 : 40);
  });
  $("#filter").addEventListener("keydown", (event) => {
    if (event.key === "Enter") { event.preventDefault(); event.target.blur(); move(1); }
  });
  $("#pager").addEventListener("click", (event) => {
    const last = Math.max(0, Math.floor((state.total - 1) / state.limit) * state.limit);
    const to = { first: 0, back: state.offset - state.limit, next: state.offset + state.limit, last }[event.target.dataset?.page];
    if (to !== undefined) load({ offset: Math.min(Math.max(to, 0), last), at: -1 });
  });

  /* One query */
  const pane = $("#query");
  const report = $("#report");
  const nav = $("nav.sections");
  let scrolled = null;
  const isOpen = () => !pane.hidden;

  const move = async (by) => {
    let at = state.at + by;
    if (state.at < 0) at = by > 0 ? 0 : state.rows.length - 1;
    if (at < 0 && state.offset > 0) {
      await load({ offset: Math.max(0, state.offset - state.limit) });
      at = state.rows.length - 1;
    } else if (at >= state.rows.length && state.offset + state.limit < state.total) {
      await load({ offset: state.offset + state.limit });
      at = 0;
    }
    state.at = Math.min(Math.max(at, 0), state.rows.length - 1);
    const row = mark();
    if (!row) return;
    if (isOpen()) location.replace(link(row.dataset.query));
    else { row.scrollIntoView({ block: "nearest" }); $("a", row).focus({ preventScroll: true }); }
  };

  const from = about.rel ?? null;
  const relevant = (grade) => grade !== null && (from === null ? grade > 0 : grade >= from);
  const grade = (value) => {
    if (value === null) return make("span", { class: "grade unjudged", title: "not judged" }, "–");
    return make("span", { class: `grade ${relevant(value) ? "relevant" : "other"}`, title: "grade" }, number(value, 2));
  };
  // Lists are kept to a depth; judged items further down have their ranks.
  const depthOf = (system) => system.items.filter((item, place) => item.rank === place + 1).length;
  const isWhole = (system) => depthOf(system) === system.total;
  const moved = (item, base) => {
    if (!base) return null;
    const rank = item.rank;
    const earlier = base.items.find((other) => other.id === item.id)?.rank;
    if (earlier === undefined && isWhole(base)) return make("span", { class: "move new", title: `not in ${against}` }, about.bases ? `not in ${against}` : "not in baseline");
    if (earlier === undefined) return make("span", { class: "move new", title: `not among the first of ${against}` }, `>${depthOf(base)}`);
    if (earlier === rank) return make("span", { class: "move same", title: `as in ${against}` }, "=");
    const up = earlier > rank;
    return make("span", { class: `move ${up ? "up" : "down"}`, title: `${earlier} in ${against}` },
      `${up ? "▲" : "▼"}${Math.abs(earlier - rank)}`);
  };
  // Scores of a list have the digits that were kept of them, and equally many decimals.
  const decimalsOf = (value) => {
    const [text, power = 0] = String(value).split("e");
    return (text.split(".")[1] ?? "").length - power;
  };
  const scoreOf = (value, decimals) => {
    if (decimals > 8 || Math.abs(value) >= 1e13) return value.toExponential().replaceAll("-", "−");
    return decimals ? value.toFixed(decimals).replace("-", "−") : number(value);
  };
  const entry = (item) => [
    named(item.name ?? item.id, "clamp"), item.name === null ? null : make("span", { class: "small id" }, named(item.id)),
  ];
  const keyword = (text, has) => make("li", { class: `chip ${has ? "has" : "lacks"}` },
    make("span", { "aria-hidden": "true" }, has ? "✓ " : "✗ "), make("span", { class: "unseen" }, has ? "has " : "lacks "), named(text));
  const keywords = (found, item) => {
    if (!found?.results || !Object.hasOwn(found.results, item.id)) return null;
    const own = found.results[item.id];
    return make("ul", { class: "chips" }, ...own.has.map((one) => keyword(one, true)), ...own.lacks.map((one) => keyword(one, false)));
  };
  const ranksOf = (system) => new Map(system.items.map((item) => [item.id, item.rank]));

  const column = (system, base, golds, ranks) => {
    const isBase = base && system.name === base.name;
    const compared = base && !isBase && (about.bases || system.gold === base.gold) ? base : null;
    const depth = depthOf(system);
    const decimals = Math.max(0, ...system.items.map((item) => decimalsOf(item.score ?? 0)));
    const lines = system.items.map((item, place) => make("li", {
      "data-item": item.id, class: `${relevant(item.grade) ? "hit" : ""}${place === depth ? " after-gap" : ""}`.trim() || null,
    },
      make("span", { class: "rank" }, item.rank.toLocaleString("en")), make("div", { class: "item" }, ...entry(item), keywords(system.keywords, item)),
      make("span", { class: "figures" }, moved(item, compared), grade(item.grade),
        item.score === null ? null : make("span", { class: "small score", title: "score" }, scoreOf(item.score, decimals)))));
    const gone = compared
      ? base.items.filter((item) => relevant(item.grade) && !ranks.get(system.name).has(item.id)) : [];
    const judged = golds[system.gold];
    const sure = isWhole(system) || (judged && judged.items.length === judged.total);
    return make("section", { class: "column", "aria-label": visible(system.name) },
      make("h3", {}, named(system.name), isBase ? make("span", { class: "small" }, " baseline") : null),
      make("p", { class: "small" }, depth < system.total
        ? `the first ${depth} of ${system.total.toLocaleString("en")}${depth < system.items.length ? ", and judged ones below" : ""}` : `${depth} items`),
      system.items.length ? make("ol", { class: "items" }, ...lines) : make("p", { class: "note" }, "No results."),
      gone.length ? make("p", { class: "small gone" }, sure ? "No longer found: " : `Not in the first ${depth}: `, ...gone.flatMap((item, place) => [place ? ", " : "", named(item.name ?? item.id)])) : null);
  };
  const goldColumn = (gold, systems, ranks, at) => {
    const own = inOrder(systems).filter((system) => system.gold === at);
    return make("section", { class: "column gold", "aria-label": "gold" },
      make("h3", {}, "Gold", gold.name ? make("span", { class: "small" }, " ", named(gold.name)) : null),
      make("p", { class: "small" }, gold.items.length < gold.total
        ? `the best ${gold.items.length} of ${gold.total.toLocaleString("en")} judged` : `${gold.items.length} judged`),
      gold.items.length ? make("ol", { class: "items" }, ...gold.items.map((item) => make("li", { "data-item": item.id },
        make("span", { class: "rank" }, ""), make("div", { class: "item" }, ...entry(item),
          make("span", { class: "small places" }, ...own.flatMap((system, place) => [place ? " · " : "", named(system.name), ` ${ranks.get(system.name).get(item.id) ?? "–"}`]))),
        make("span", { class: "figures" }, grade(item.grade)))))
        : make("p", { class: "note" }, about.large ? "Too many judged items to list; the rankings show grades." : "No judged items."));
  };
  const scoresTable = (found) => make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Scores" }, make("table", {},
    make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "system"), ...about.labels.map((label) => make("th", { scope: "col", class: "number" }, visible(label))))),
    make("tbody", {}, ...places.map((at) => make("tr", {}, make("th", { scope: "row" }, named(about.systems[at])),
      ...about.labels.map((label, which) => {
        const value = found.scores[about.systems[at]]?.[label] ?? null;
        const base = about.compared.includes(at) ? found.scores[about.systems[baseOf(at)]]?.[label] ?? null : null;
        return make("td", { class: "number" }, score(value), " ", change(base, value, which));
      }))))));

  const inOrder = (systems) => places.flatMap((at) => systems.filter((system) => system.name === about.systems[at]));
  const legend = (found, baseFor) => {
    const scored = found.systems.some((system) => system.items.some((item) => item.score !== null));
    const moves = found.systems.some((system) => { const base = baseFor(system); return base && base.name !== system.name; });
    return make("p", { class: "legend" }, [
      "Green edge: relevant. Number in bold: grade; –: not judged.", scored ? "Small number: score." : "",
      moves ? `▲ ▼: places up or down from ${against}; >10: below its first 10.` : "",
    ].filter(Boolean).join(" "));
  };

  const draw = (found) => {
    const ranks = new Map(found.systems.map((system) => [system.name, ranksOf(system)]));
    const baseFor = (system) => {
      const base = about.systems[baseOf(about.systems.indexOf(system.name))];
      return found.systems.find((other) => other.name === base);
    };
    $("#query-title").replaceChildren(named(found.text ?? found.id, "whole"));
    const parts = [];
    parts.push(make("p", { class: "about" }, found.text === null ? null : make("span", {}, `${about.one} `, named(found.id)),
      found.slices.length ? make("ul", { class: "chips" }, ...found.slices.map((name) => make("li", { class: "chip" }, named(name)))) : null));
    parts.push(scoresTable(found));
    const asked = found.systems.find((system) => system.keywords)?.keywords.asked;
    if (asked) parts.push(make("p", {}, "Asks for ", ...asked.flatMap((word, at) => [at ? ", " : "", named(word)])));
    if (!found.held) {
      parts.push(make("p", { class: "note" }, about.answers
        ? `To limit its size, this page has no rankings of this ${about.one}; rankjury view shows those of an archived run.`
        : "This report does not have rankings."));
    } else {
      parts.push(make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Gold and rankings side by side" },
        make("div", { class: "columns" }, ...found.golds.map((gold, at) => goldColumn(gold, found.systems, ranks, at)),
          ...inOrder(found.systems).map((system) => column(system, baseFor(system), found.golds, ranks)))));
      parts.push(legend(found, baseFor));
    }
    $("#query-body").replaceChildren(...parts);
    stack($$("table", pane));
    pane.dataset.shown = found.id;
  };
  const title = document.title;
  let opener = null;
  const close = () => {
    pane.hidden = true;
    report.hidden = false;
    if (nav) nav.hidden = false;
    delete pane.dataset.shown;
    document.title = title;
    const row = mark();
    const left = opener?.isConnected && !body.contains(opener) ? opener : row && $("a", row);
    if (scrolled !== null) scrollTo({ top: scrolled, behavior: "instant" });
    left?.focus({ preventScroll: true });
    left?.scrollIntoView({ block: "nearest", behavior: "instant" });
    opener = null;
  };
  const open = async (id) => {
    const found = await source.query(id).catch((error) => ({ error }));
    if (decodeURIComponent(location.hash.slice(7)) !== wellFormed(id)) return; // another was asked for meanwhile
    if (!isOpen()) {
      scrolled = scrollY;
      opener = document.activeElement === document.body ? null : document.activeElement;
    }
    report.hidden = true;
    if (nav) nav.hidden = true;
    pane.hidden = false;
    if (!found || found.error) {
      $("#query-title").textContent = found?.error ? "This cannot be shown" : `No such ${about.one}`;
      $("#query-body").replaceChildren(make("p", { class: "note" }, found?.error ? found.error.message : named(id)));
      $("#query-place").textContent = "";
      state.at = -1;
      pane.dataset.shown = id;
    } else {
      draw(found);
      document.title = `${visible(found.text ?? found.id)} – ${title}`;
      let at = state.rows.findIndex((row) => row.id === id);
      if (at < 0) { // opened from elsewhere: go on from where it stands in the table
        await load({}, id);
        at = state.rows.findIndex((row) => row.id === id);
      }
      state.at = at;
      mark();
      $("#query-place").textContent = at >= 0 ? `${(state.offset + at + 1).toLocaleString("en")} of ${state.total.toLocaleString("en")}` : "";
    }
    scrollTo({ top: 0, behavior: "instant" });
    pane.focus({ preventScroll: true });
  };
  const follow = () => {
    if (location.hash.startsWith("#query=")) {
      let id = null;
      try { id = decodeURIComponent(location.hash.slice(7)); } catch { return; }
      open(id);
    } else if (isOpen()) {
      close();
    }
  };
  // Back to where it was opened from; a page that was opened at a query has nothing to go back to.
  let steps = 0;
  addEventListener("hashchange", () => { steps += 1; });
  const back = () => { if (steps > 0) history.back(); else location.replace("#queries"); };
  addEventListener("hashchange", follow);
  $("#query-back").addEventListener("click", back);
  $("#query-previous").addEventListener("click", () => move(-1));
  $("#query-next").addEventListener("click", () => move(1));
  $("#query-body").addEventListener("pointerover", (event) => {
    const item = event.target.closest?.("li[data-item]")?.dataset.item;
    for (const line of $$("li[data-item]", pane)) line.classList.toggle("same-item", item !== undefined && line.dataset.item === item);
  });
  keys.set("j", () => { move(1); });
  keys.set("k", () => { move(-1); });
  keys.set("Enter", (event) => {
    if (isOpen() || event.target.closest("a, button, summary") || state.at < 0) return false;
    location.hash = link(state.rows[state.at].id).slice(1);
  });
  keys.set("Escape", () => { if (!isOpen()) return false; back(); });
  load().then(follow);
})();

"use strict";
// Of the server's own pages: lists of runs by keys, two chosen to compare, what is at work. Pages come whole from the
// server; a part of one is put in its place as it was parsed, and nothing in it can run.
(() => {
  const { $, $$, make, keys, named } = globalThis.rankjury;

  const address = (form) => {
    const asked = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
    return String(asked) ? `${form.getAttribute("action")}?${asked}` : form.getAttribute("action");
  };
  const isList = Boolean($("#running"));
  if (!isList) $("#narrow")?.addEventListener("change", (event) => location.assign(address(event.currentTarget)));
  const runs = $("#runs");
  if (!runs) return;

  /* Moving among runs */
  let at = -1;
  const lines = () => $$("tr[data-run]", runs);
  const mark = (scroll = true) => {
    lines().forEach((line, place) => line.classList.toggle("at", place === at));
    const line = lines()[at];
    if (!line) return;
    if (scroll) line.scrollIntoView({ block: "nearest" });
    $("a", line).focus({ preventScroll: true });
  };
  const turn = (rel) => { const link = $(`#pager a[rel="${rel}"]`, runs); if (link) link.click(); return Boolean(link); };
  const move = (by) => {
    const last = lines().length - 1;
    if (by > 0 && at === last && turn("next")) { at = 0; return; }
    if (by < 0 && at === 0 && turn("prev")) return;
    at = Math.min(Math.max(at + by, 0), last);
    mark();
  };
  keys.set("j", () => move(1));
  keys.set("k", () => move(-1));
  keys.set("Enter", (event) => {
    const line = lines()[at];
    if (!line || event.target.closest("a, button, input, summary")) return false;
    location.assign($("a", line).href);
  });
  keys.set("Escape", () => {
    const filter = $("#filter");
    if (filter && filter.value) { filter.value = ""; narrow(); return; }
    if (at < 0) return false;
    at = -1;
    document.activeElement.blur();
    mark();
  });
  runs.addEventListener("click", (event) => {
    const line = event.target.closest("tr[data-run]");
    if (line && !event.target.closest("a, input, .choose") && !String(getSelection())) location.assign($("a", line).href);
    else if (event.target.matches(".choose")) $("input", event.target).click();
  });

  /* Two of them */
  const chosen = new Set();
  const tell = () => {
    const button = $("#compare");
    if (!button) return;
    for (const box of $$(".choose input", runs)) box.checked = chosen.has(box.value);
    button.disabled = chosen.size !== 2;
    $("#chosen").textContent = chosen.size === 2 ? "2 chosen" : chosen.size
      ? `${chosen.size} chosen; two can be compared` : "Choose two runs to compare them.";
  };
  const compare = () => {
    if (chosen.size !== 2) return false;
    // Names begin with the time: the earlier run is the one that the other is compared with.
    const [a, b] = [...chosen].sort();
    location.assign(`/compare?${new URLSearchParams({ a, b })}`);
  };
  runs.addEventListener("change", (event) => {
    if (!event.target.matches(".choose input")) return;
    if (event.target.checked) chosen.add(event.target.value);
    else chosen.delete(event.target.value);
    tell();
  });
  runs.addEventListener("submit", (event) => {
    event.preventDefault();
    if (event.target.id === "choice") compare();
    else narrow();
  });
  keys.set("x", () => { const box = $(".choose input", lines()[at] ?? document.createElement("i")); if (!box) return false; box.click(); });
  keys.set("c", compare);

  /* The list as it is by now, filtered by the server */
  let asking = 0;
  const show = async (url, keep = true) => {
    const mine = (asking += 1);
    let page;
    try {
      const answer = await fetch(url);
      if (!answer.ok) return;
      page = new DOMParser().parseFromString(await answer.text(), "text/html");
    } catch { return; } // the server has ended: what is shown stays
    const fresh = $("#runs", page);
    if (mine !== asking || !fresh) return;
    const typed = $("#filter");
    const [text, caret, focused] = [typed?.value, typed?.selectionStart, document.activeElement === typed];
    const held = keep ? lines()[at]?.dataset.run : null;
    runs.dataset.runs = fresh.dataset.runs;
    runs.replaceChildren(...document.adoptNode(fresh).childNodes);
    const filter = $("#filter");
    if (filter && typed) {
      filter.value = text;
      if (focused) { filter.focus(); filter.setSelectionRange(caret, caret); }
    }
    history.replaceState(null, "", url);
    at = held ? lines().findIndex((line) => line.dataset.run === held) : Math.min(at, lines().length - 1);
    if (at >= 0) mark(!held && !focused);
    tell();
  };
  const narrow = () => { at = -1; return show(address($("#narrow")), false); };
  let waiting = null;
  if (isList) {
    runs.addEventListener("input", (event) => {
      if (event.target.id !== "filter") return;
      clearTimeout(waiting);
      waiting = setTimeout(narrow, 120);
    });
    runs.addEventListener("keydown", (event) => {
      if (event.target.id !== "filter" || (event.key !== "Enter" && event.key !== "Escape")) return;
      event.preventDefault();
      clearTimeout(waiting);
      if (event.key === "Enter") narrow().then(() => { at = 0; mark(); });
      else if (event.target.value) { event.target.value = ""; narrow(); }
    });
    runs.addEventListener("change", (event) => { if (event.target.id === "plan") narrow(); });
    runs.addEventListener("click", (event) => {
      const link = event.target.closest("#pager a, .note a");
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      if (!link.closest("#pager")) $("#filter").value = "";
      at = Math.min(at, 0);
      show(link.getAttribute("href"), false).then(() => runs.scrollIntoView({ block: "nearest" }));
    });
  }
  tell();

  /* What is at work, looked at every second */
  const board = $("#running");
  if (!board) return;
  const since = (text) => {
    const seconds = Math.max(0, Math.round((Date.now() - Date.parse(text)) / 1000));
    return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  };
  const work = (one) => {
    const known = one.of > 0;
    const bar = make("progress", { max: 1, value: known ? Math.min(1, one.done / one.of) : null, "aria-label": one.name });
    const share = known ? `${one.done.toLocaleString("en")} of ${one.of.toLocaleString("en")}` : "";
    return make("li", {}, named(one.name), bar, make("span", { class: "small" }, since(one.started)),
      make("span", { class: "small what" }, named(one.what || "begins"), share ? ` ${share}` : ""));
  };
  const look = async () => {
    let pause = 1000;
    try {
      const answer = document.hidden ? null : await fetch("/api/running");
      if (answer && answer.ok) {
        const found = await answer.json();
        board.hidden = !found.running.length;
        $("#running-list").replaceChildren(...found.running.map(work));
        if (found.runs !== runs.dataset.runs) await show(location.pathname + location.search);
      }
    } catch {
      pause = 5000;
      board.hidden = false;
      $("#running-list").replaceChildren(make("li", {}, "rankjury view has ended. This page shows its last state."));
    }
    setTimeout(look, pause);
  };
  look();
})();

"use strict";

(() => {
  const base = document.currentScript.dataset.base;
  const form = document.querySelector("header form");
  const input = form.querySelector("input");
  const list = document.getElementById("results");
  const narrow = matchMedia("(max-width: 48rem)");
  let selected = -1;

  // On a narrow screen, the list of documents would hide the page. Without this script it stays open.
  if (narrow.matches) document.querySelector("nav details").open = false;
  narrow.addEventListener("change", () => (document.querySelector("nav details").open = !narrow.matches));
  document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest" });

  function loadIndex() {
    if (document.getElementById("search-index")) return;
    const script = document.createElement("script");
    script.id = "search-index";
    script.src = base + "/assets/search-index.js";
    script.addEventListener("load", show);
    document.head.append(script);
  }

  function hide() {
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  function show() {
    selected = -1;
    const query = input.value.trim();
    if (query === "" || window.searchIndex === undefined) return hide();
    const results = search(window.searchIndex, query, 20);
    list.replaceChildren(...results.map(item));
    if (results.length === 0) list.append(element("li", "none", "No section contains all of these words."));
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
  }

  // item shows texts as texts: they are never parsed as HTML.
  function item(result, i) {
    const link = element("a", "", "");
    link.href = base + "/" + result.section.address;
    link.tabIndex = -1;
    link.append(element("strong", "", result.section.heading));
    if (result.section.page !== result.section.heading) link.append(" · " + result.section.page);
    const excerpt = element("small", "", "");
    for (const part of result.excerpt) excerpt.append(part.match ? element("mark", "", part.text) : part.text);
    link.append(excerpt);
    const entry = element("li", "", "");
    entry.id = "result-" + i;
    entry.setAttribute("role", "option");
    entry.append(link);
    return entry;
  }

  function element(name, className, text) {
    const e = document.createElement(name);
    if (className !== "") e.className = className;
    e.textContent = text;
    return e;
  }

  function select(step) {
    const options = list.querySelectorAll("[role=option]");
    if (options.length === 0) return;
    options[selected]?.removeAttribute("aria-selected");
    selected = (selected + step + options.length) % options.length;
    options[selected].setAttribute("aria-selected", "true");
    options[selected].scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", options[selected].id);
  }

  function onKey(event) {
    if (event.key === "ArrowDown") select(1);
    else if (event.key === "ArrowUp") select(selected < 0 ? 0 : -1);
    else if (event.key === "Escape") hide();
    else if (event.key === "Enter") list.querySelectorAll("[role=option] a")[Math.max(0, selected)]?.click();
    else return;
    event.preventDefault();
  }

  form.hidden = false;
  input.addEventListener("focus", loadIndex);
  input.addEventListener("input", () => (loadIndex(), show()));
  input.addEventListener("keydown", onKey);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("focusout", (event) => form.contains(event.relatedTarget) || setTimeout(hide, 150));
  list.addEventListener("click", hide);
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || document.activeElement === input) return;
    event.preventDefault();
    input.focus();
  });
})();

import MiniSearch from "minisearch";

/** A section of search.json. */
interface Section {
  url: string;
  /** Title of the page. */
  title: string;
  heading: string;
  anchor: string;
  text: string;
}

const INDEX_URL = "/docs/search.json";
const MAX_RESULTS = 10;
const SNIPPET_LENGTH = 140;

/**
 * Adds a full-text search to the field of `root`, as a combobox (WAI-ARIA): arrow keys select, Enter opens. The index
 * is built when the field first receives focus.
 */
export function search(root: HTMLElement): void {
  const field = root.querySelector("input")!;
  const list = document.createElement("ul");
  list.id = "search-results";
  list.role = "listbox";
  list.ariaLabel = "Results";
  list.hidden = true;
  root.append(list);
  field.role = "combobox";
  field.ariaExpanded = "false";
  field.setAttribute("aria-controls", list.id);
  field.setAttribute("aria-autocomplete", "list");

  let loading: Promise<Finder> | undefined;
  let selected = -1;
  const load = () =>
    (loading ??= loadFinder().catch((error: unknown) => {
      loading = undefined;
      throw error;
    }));

  function show(items: HTMLElement[], isOpen = items.length > 0) {
    list.replaceChildren(...items);
    list.hidden = !isOpen;
    field.ariaExpanded = String(isOpen);
    select(-1);
  }

  function select(index: number) {
    const options = list.querySelectorAll<HTMLElement>("[role=option]");
    selected = options.length === 0 ? -1 : index < 0 ? -1 : Math.min(index, options.length - 1);
    options.forEach((option, each) => (option.ariaSelected = String(each === selected)));
    const option = options[selected];
    if (option === undefined) field.removeAttribute("aria-activedescendant");
    else field.setAttribute("aria-activedescendant", option.id);
    option?.scrollIntoView({ block: "nearest" });
  }

  async function find() {
    const query = field.value.trim();
    if (query === "") return show([]);
    try {
      const finder = await load();
      if (field.value.trim() !== query) return;
      const results = finder(query);
      show(
        results.length === 0 ? [note(`Nothing found for “${query}”.`)] : results.map((one, i) => option(one, query, i)),
        true,
      );
      if (results.length > 0) select(0);
    } catch {
      show([note("The search index failed to load. Reload the page.")]);
    }
  }

  // The field keeps focus while an option is clicked.
  list.addEventListener("pointerdown", (event) => event.preventDefault());
  list.addEventListener("click", () => show([]));
  field.addEventListener("focus", () => void load().catch(() => {}));
  field.addEventListener("input", () => void find());
  field.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") select(selected + 1);
    else if (event.key === "ArrowUp") select(Math.max(0, selected - 1));
    else if (event.key === "Enter") list.querySelector<HTMLElement>("[aria-selected=true]")?.click();
    else if (event.key === "Escape") show([]);
    else return;
    event.preventDefault();
  });
  root.addEventListener("focusout", ({ relatedTarget }) => {
    if (!(relatedTarget instanceof Node && root.contains(relatedTarget))) show([]);
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target === field) return;
    event.preventDefault();
    field.focus();
    field.select();
  });
}

type Finder = (query: string) => Section[];

async function loadFinder(): Promise<Finder> {
  const response = await fetch(INDEX_URL);
  if (!response.ok) throw new Error(`${INDEX_URL}: status ${response.status}`);
  const sections = (await response.json()) as Section[];
  const index = new MiniSearch<Section & { id: number }>({
    fields: ["title", "heading", "text"],
    // Names such as `stream.max_queued` and `--json` are found whole and by their parts.
    tokenize: (text) =>
      text
        .toLowerCase()
        .match(/[\p{L}\p{N}_]+(?:[.-][\p{L}\p{N}_]+)*|[\p{L}\p{N}]+/gu)
        ?.flatMap(withParts) ?? [],
  });
  index.addAll(sections.map((section, id) => ({ ...section, id })));
  return (query) =>
    index
      .search(query, {
        prefix: true,
        fuzzy: (term) => (term.length > 4 ? 0.2 : false),
        combineWith: "AND",
        boost: { title: 4, heading: 3 },
      })
      .slice(0, MAX_RESULTS)
      .map(({ id }) => sections[id as number]!);
}

function withParts(word: string): string[] {
  const parts = word.split(/[._-]/).filter((part) => part !== "");
  return parts.length < 2 ? [word] : [word, ...parts];
}

/** The option itself is not a link: an option may not contain other controls. */
function option({ url, title, heading, anchor, text }: Section, query: string, index: number): HTMLElement {
  const item = document.createElement("li");
  item.id = `search-result-${index}`;
  item.role = "option";
  item.ariaSelected = "false";
  const name = document.createElement("strong");
  name.textContent = heading === "" ? title : `${title} › ${heading}`;
  const snippet = document.createElement("span");
  snippet.textContent = snippetOf(text, query);
  item.append(name, snippet);
  item.addEventListener("click", () => location.assign(anchor === "" ? url : `${url}#${anchor}`));
  return item;
}

/** Returns the text around the first word of the query. */
function snippetOf(text: string, query: string): string {
  const position = text.toLowerCase().indexOf(query.toLowerCase().split(/\s+/)[0] ?? "");
  const start = Math.max(0, position - 40);
  return `${start > 0 ? "…" : ""}${text.slice(start, start + SNIPPET_LENGTH)}${text.length > start + SNIPPET_LENGTH ? "…" : ""}`;
}

function note(text: string): HTMLElement {
  const item = document.createElement("li");
  item.className = "note";
  item.textContent = text;
  item.role = "option";
  item.ariaDisabled = "true";
  return item;
}

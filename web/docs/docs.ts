import { addCopyButtons } from "./copy-buttons.ts";
import { search } from "./search.ts";

addCopyButtons();
search(document.querySelector<HTMLElement>(".search")!);

import { copyButtons } from "./copy-buttons.ts";
import { search } from "./search.ts";

copyButtons();
search(document.querySelector<HTMLElement>(".search")!);

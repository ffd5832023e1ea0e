import type { ComponentType } from "react";
import type { IconName } from "../shared/icon.tsx";

/** Loads a page: a module whose default export is the component. */
export type LoadPage = () => Promise<{ default: ComponentType }>;

/** Pages by path. `$name` matches one segment: `/dns/$zoneId`; `useParams({ strict: false })` returns its value. */
export type AreaPages = Record<`/${string}`, LoadPage>;

/** An entry of the navigation. */
export interface NavEntry {
  label: string;
  /** The page that it opens. It is marked as current for all pages whose path starts with it. */
  path: string;
  icon: IconName;
  /** Servers that have the pages. Default: both. */
  modes?: readonly ("serve" | "dev")[];
  /** Pages of the area, shown below the entry while the area is open. */
  pages?: readonly { label: string; path: string; modes?: readonly ("serve" | "dev")[] }[];
  /** Extra search terms for the command palette. */
  keywords?: readonly string[];
  /** A number next to the label, such as the number of unread messages. */
  count?: LoadPage;
  /** Second key of its shortcut, after `g`: `m` for `g m`. */
  shortcut?: string;
}

import type { LiveFragment } from "../fragments.ts";

/** A fragment that is in no segment yet. */
interface Pending {
  fragment: LiveFragment;
  run: string;
  /** The page it stands on; undefined: on none. */
  page: number | undefined;
}

/** What came and is in no segment yet, in the order in which it came. */
export interface PendingFragments {
  add(run: string, fragment: LiveFragment): void;
  /** Of everything that is in no segment yet; and of what of it stands on no page. */
  octets(): number;
  unwritten(): number;
  /** What stands on no page, as pages: one for each run. */
  pages(): { run: string; fragments: LiveFragment[]; written(page: number): void }[];
  /**
   * A segment of these octets is cut from a rendition of a run, and ends about there: what came up to its last octets is done with. The end to the
   * tick; undefined: nothing of it was here.
   */
  take(run: string, rendition: string, cut: { bytes: readonly Buffer[]; end: number }): number | undefined;
  /** Pages on which nothing stands any more, of those that were written. */
  emptied(): number[];
}

export function createPending(): PendingFragments {
  /** By run and rendition: a segment takes from the beginning of one. */
  const rows = new Map<string, Pending[]>();
  const onPage = new Map<number, number>();
  let octets = 0;
  let unwritten = 0;

  function leave({ page, fragment }: Pending) {
    octets -= fragment.bytes.length;
    if (page === undefined) unwritten -= fragment.bytes.length;
    else onPage.set(page, onPage.get(page)! - 1);
  }

  return {
    add(run, fragment) {
      rows.getOrInsertComputed(`${run}/${fragment.rendition}`, () => []).push({ fragment, run, page: undefined });
      octets += fragment.bytes.length;
      unwritten += fragment.bytes.length;
    },
    octets: () => octets,
    unwritten: () => unwritten,
    pages() {
      const open = [...rows.values()].flat().filter(({ page }) => page === undefined);
      return [...Map.groupBy(open, ({ run }) => run)].map(([run, list]) => ({
        run,
        fragments: list.map(({ fragment }) => fragment),
        written(page) {
          // Some may have come into a segment meanwhile.
          const here = list.filter((one) => rows.get(`${run}/${one.fragment.rendition}`)?.includes(one) === true);
          for (const one of here) {
            unwritten -= one.fragment.bytes.length;
            one.page = page;
          }
          onPage.set(page, here.length);
        },
      }));
    },
    take(run, rendition, { bytes, end }) {
      const name = `${run}/${rendition}`;
      const row = rows.get(name) ?? [];
      const lastBytes = bytes.at(-1);
      const same = row.findLastIndex(({ fragment }) => fragment.bytes === lastBytes);
      // Octets that were copied on their way are found by their time.
      const index =
        same === -1 ? row.findLastIndex(({ fragment: { time, duration } }) => time + duration / 2 < end) : same;
      const taken = row.splice(0, index + 1);
      for (const one of taken) leave(one);
      if (row.length === 0) rows.delete(name);
      const last = taken.at(-1)?.fragment;
      return last && last.time + last.duration;
    },
    emptied() {
      const pages = [...onPage].filter(([, count]) => count === 0).map(([page]) => page);
      for (const page of pages) onPage.delete(page);
      return pages;
    },
  };
}

import type { LiveFragment } from "../fragments.ts";

/** A fragment that has not been added to a segment. */
interface Pending {
  fragment: LiveFragment;
  run: string;
  /** The page of the fragment; undefined: it has not been written. */
  page: number | undefined;
}

/** Data that has not been added to a segment, in arrival order. */
interface PendingFragments {
  add(run: string, fragment: LiveFragment): void;
  /** `octets`: data that has not been added to a segment. `unwritten`: the portion of it that is not on any page. */
  octets(): number;
  unwritten(): number;
  /** Unwritten data as pages, one per run. */
  pages(): { run: string; fragments: LiveFragment[]; written(page: number): void }[];
  /**
   * Removes the data of a new segment of a rendition, up to the fragment that contains its last octets. Returns the
   * exact end in ticks; undefined: none of the segment's data was pending.
   */
  remove(run: string, rendition: string, cut: { bytes: readonly Buffer[]; end: number }): number | undefined;
  /** Written pages whose data has all been removed. */
  takeEmptyPages(): number[];
}

export function createPendingFragments(): PendingFragments {
  /** By run and rendition: a segment takes data from the beginning of a list. */
  const rows = new Map<string, Pending[]>();
  const onPage = new Map<number, number>();
  let octets = 0;
  let unwrittenOctets = 0;

  function releaseFromPage({ page, fragment }: Pending) {
    octets -= fragment.bytes.length;
    if (page === undefined) unwrittenOctets -= fragment.bytes.length;
    else onPage.set(page, onPage.get(page)! - 1);
  }

  return {
    add(run, fragment) {
      rows.getOrInsertComputed(`${run}/${fragment.rendition}`, () => []).push({ fragment, run, page: undefined });
      octets += fragment.bytes.length;
      unwrittenOctets += fragment.bytes.length;
    },
    octets: () => octets,
    unwritten: () => unwrittenOctets,
    pages() {
      const openFragments = [...rows.values()].flat().filter(({ page }) => page === undefined);
      return [...Map.groupBy(openFragments, ({ run }) => run)].map(([run, list]) => ({
        run,
        fragments: list.map(({ fragment }) => fragment),
        written(page) {
          // Some fragments may have been added to a segment in the meantime.
          const fragmentsOnPage = list.filter(
            (pendingFragment) =>
              rows.get(`${run}/${pendingFragment.fragment.rendition}`)?.includes(pendingFragment) === true,
          );
          for (const one of fragmentsOnPage) {
            unwrittenOctets -= one.fragment.bytes.length;
            one.page = page;
          }
          onPage.set(page, fragmentsOnPage.length);
        },
      }));
    },
    remove(run, rendition, { bytes, end }) {
      const name = `${run}/${rendition}`;
      const row = rows.get(name) ?? [];
      const lastBytes = bytes.at(-1);
      const lastSameIndex = row.findLastIndex(({ fragment }) => fragment.bytes === lastBytes);
      // Copied buffers cannot be compared by identity: finds them by time.
      const index =
        lastSameIndex === -1
          ? row.findLastIndex(({ fragment: { time, duration } }) => time + duration / 2 < end)
          : lastSameIndex;
      const takenFragments = row.splice(0, index + 1);
      for (const one of takenFragments) releaseFromPage(one);
      if (row.length === 0) rows.delete(name);
      const last = takenFragments.at(-1)?.fragment;
      return last && last.time + last.duration;
    },
    takeEmptyPages() {
      const pages = [...onPage].filter(([, count]) => count === 0).map(([page]) => page);
      for (const page of pages) onPage.delete(page);
      return pages;
    },
  };
}

import { zoneErrors } from "../errors.ts";
import { recordDraft, mergePatch, type ChangeRecords } from "./change.ts";
import type { DnsRecord, RecordRequest, RecordZone } from "./types.ts";

export interface Batch {
  deletes: string[];
  patches: { id: string; change: Partial<RecordRequest> }[];
  puts: { id: string; request: RecordRequest }[];
  posts: RecordRequest[];
}

export type BatchResult = Record<"deletes" | "patches" | "puts" | "posts", DnsRecord[]>;

/** Maximum size of a batch. The hosted service allows 200 on its free plan and 3,500 on other plans. */
const MAX_BATCH_SIZE = 3500;

/** Runs deletes, patches, puts and posts in this order; each sees the result of the previous ones. */
export async function runBatch(
  change: ChangeRecords,
  zone: RecordZone,
  { deletes, patches, puts, posts }: Batch,
): Promise<BatchResult> {
  if (deletes.length + patches.length + puts.length + posts.length > MAX_BATCH_SIZE)
    throw zoneErrors.batchTooLarge({ limit: MAX_BATCH_SIZE });
  const [putDrafts, postDrafts] = [
    puts.map(({ request }) => recordDraft(request, zone)),
    posts.map((request) => recordDraft(request, zone)),
  ];
  return change(zone, async (steps) => {
    const batchResult: BatchResult = { deletes: [], patches: [], puts: [], posts: [] };
    for (const id of deletes) batchResult.deletes.push(await steps.remove(await steps.changeable(id)));
    for (const { id, change: recordChange } of patches) {
      const before = await steps.changeable(id);
      batchResult.patches.push(await steps.replace(before, recordDraft(mergePatch(before, recordChange), zone)));
    }
    for (const [index, { id }] of puts.entries())
      batchResult.puts.push(await steps.replace(await steps.changeable(id), putDrafts[index]!));
    for (const draft of postDrafts) batchResult.posts.push(await steps.add(draft));
    return batchResult;
  });
}

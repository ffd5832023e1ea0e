import { isStoreError } from "../../store/index.ts";
import { fine, type Finding } from "./finding.ts";

/** Checks that this process can write, read and delete objects in the bucket. */
export async function objectsFindings(checkObjects: (() => Promise<void>) | undefined): Promise<Finding[]> {
  if (checkObjects === undefined) return [];
  const check = "objects in S3";
  const begunAt = performance.now();
  try {
    await checkObjects();
    return [fine(check, `wrote, read and deleted an object in ${Math.round(performance.now() - begunAt)} ms`)];
  } catch (err) {
    if (!isStoreError(err)) throw err;
    return [{ check, status: "error", found: err.message, ...(err.fix !== undefined && { fix: err.fix }) }];
  }
}

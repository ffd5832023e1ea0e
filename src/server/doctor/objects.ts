import { UserError } from "../../kernel/index.ts";
import { passedFinding, type Finding } from "./finding.ts";

/** Checks that this process can read, store and delete objects in the bucket. */
export async function objectStoreFindings(checkBucket: (() => Promise<number>) | undefined): Promise<Finding[]> {
  if (checkBucket === undefined) return [];
  const check = "objects in S3";
  try {
    return [passedFinding(check, `stored and deleted an object, round trip ${Math.round(await checkBucket())} ms`)];
  } catch (err) {
    if (!(err instanceof UserError)) throw err;
    return [{ check, status: "error", found: err.message, ...(err.fix !== undefined && { fix: err.fix }) }];
  }
}

import { messageOf } from "../../../kernel/index.ts";
import { storeErrors } from "../../errors.ts";

/** Converts a file system error to a StoreError if the user can fix it. */
export function toFsStoreError(thrown: unknown, what: string): unknown {
  const cause = { cause: thrown };
  switch (codeOf(thrown)) {
    case "ENOSPC":
    case "EDQUOT":
    case "EFBIG":
      return storeErrors.diskFull({ what }, cause);
    case "EMFILE":
    case "ENFILE":
      return storeErrors.tooManyFiles({ what }, cause);
    case "EACCES":
    case "EPERM":
    case "EROFS":
      return storeErrors.notWritable({ what, reason: messageOf(thrown) }, cause);
    // A file exists where a folder is needed, or vice versa.
    case "EISDIR":
    case "ENOTDIR":
    case "EEXIST":
    case "ENOTEMPTY":
      return storeErrors.keyInUse({ key: what }, cause);
    default:
      return thrown;
  }
}

export const codeOf = (thrown: unknown): string | undefined =>
  thrown instanceof Error && "code" in thrown ? String(thrown.code) : undefined;

import assert from "node:assert/strict";
import { test } from "node:test";
import { isStoreError } from "../../errors.ts";
import { toFsStoreError } from "./errors.ts";

const thrown = (code: string) => toFsStoreError(Object.assign(new Error(code), { code }), "a/b");

test("maps each file system error to a StoreError with a matching fix", () => {
  for (const code of ["ENOSPC", "EDQUOT", "EFBIG"]) assert.ok(isStoreError(thrown(code), "diskFull"), code);
  for (const code of ["EMFILE", "ENFILE"]) assert.ok(isStoreError(thrown(code), "tooManyFiles"), code);
  for (const code of ["EACCES", "EPERM", "EROFS"]) assert.ok(isStoreError(thrown(code), "notWritable"), code);
  for (const code of ["EISDIR", "ENOTDIR", "EEXIST", "ENOTEMPTY"])
    assert.ok(isStoreError(thrown(code), "keyInUse"), code);
  assert.equal((thrown("EIO") as NodeJS.ErrnoException).code, "EIO");
});

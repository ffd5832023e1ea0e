import { type Clock, type Ids, isHexId } from "../../../kernel/index.ts";
import { isUniqueViolation, type Secrets } from "../../../store/index.ts";
import { streamErrors } from "../../errors.ts";
import { type Directory, inputOf, ownedInputOf, inputKeyContext } from "./directory.ts";
import type { InputsTable } from "./inputs-table.ts";
import { isKey, keyHash, newKeys } from "./keys.ts";
import { applyChange, checkIdempotencyKey, DEFAULTS, type LiveSettings } from "./rules.ts";
import type { StatusTable } from "./status-table.ts";
import type { InputRow } from "./live-table.ts";
import type { LiveRecording } from "./port.ts";
import type { LiveInputs } from "./types.ts";

export interface InputsDeps {
  table: InputsTable;
  history: Pick<StatusTable, "history">;
  directory: Pick<Directory, "changed">;
  secrets: Pick<Secrets, "seal" | "open">;
  clock: Pick<Clock, "now">;
  ids: Pick<Ids, "hex">;
  minDeletionDays: number;
  /** Applies the input's access rules to its live videos. */
  guard(
    account: string,
    uid: string,
    rules: Partial<Pick<LiveRecording, "requireSignedURLs" | "allowedOrigins">>,
  ): Promise<void>;
}

/** Creates the operations that owners can perform on their inputs. */
export function createOwnedInputs({
  table,
  history,
  directory,
  secrets,
  clock,
  ids,
  minDeletionDays,
  guard,
}: InputsDeps): LiveInputs {
  const rules = { minDeletionDays };

  function keysOf(uid: string, keys = newKeys(ids)): Pick<InputRow, "publish_hash" | "playback_hash" | "keys"> {
    return {
      publish_hash: keyHash(keys.publish),
      playback_hash: keyHash(keys.playback),
      keys: secrets.seal(JSON.stringify(keys), inputKeyContext(uid)),
    };
  }

  async function find(account: string, uid: string): Promise<InputRow> {
    const row = isHexId(uid) ? await table.find(uid) : undefined;
    if (row?.account_id !== account) throw streamErrors.liveInputNotFound({ uid });
    return row;
  }

  async function alter(account: string, uid: string, change: (row: InputRow) => Partial<InputRow>) {
    const row = isHexId(uid)
      ? await table.update(account, uid, (before) => ({ ...change(before), modified_at: clock.now() }))
      : undefined;
    if (row === undefined) throw streamErrors.liveInputNotFound({ uid });
    directory.changed(uid);
    return ownedInputOf(row, secrets);
  }

  return {
    async create(account, change, { idempotencyKey, uid = ids.hex(), keys } = {}) {
      if (idempotencyKey !== undefined) checkIdempotencyKey(idempotencyKey);
      if (keys !== undefined && (!isKey(keys.publish) || !isKey(keys.playback) || keys.publish === keys.playback))
        throw streamErrors.badParameter({
          reason:
            "keys must contain different publish and playback keys, each with 32 hex digits, the letter k, and 32 hex digits",
        });
      const now = clock.now();
      const settings = JSON.stringify(applyChange(DEFAULTS, change, rules));
      const row: InputRow = {
        uid,
        account_id: account,
        settings,
        ...keysOf(uid, keys),
        created_at: now,
        modified_at: now,
        rotated_at: null,
        status: null,
        status_at: null,
        noted: 0,
      };
      const insertResult = await table
        .insert(row, idempotencyKey === undefined ? undefined : keyHash(idempotencyKey))
        .catch((err: unknown) => {
          throw isUniqueViolation(err) ? streamErrors.idTaken({ uid }, { cause: err }) : err;
        });
      if (insertResult === "gone") throw streamErrors.liveKeyOfDeleted();
      return ownedInputOf(insertResult, secrets);
    },
    get: async (account, uid) => ownedInputOf(await find(account, uid), secrets),
    async list(account, page) {
      const { items, total } = await table.list(account, page);
      return { items: items.map(inputOf), total };
    },
    async update(account, uid, change) {
      const updatedRow = await alter(account, uid, (row) => ({
        settings: JSON.stringify(applyChange(JSON.parse(row.settings) as LiveSettings, change, rules)),
      }));
      const { requireSignedURLs, allowedOrigins } = change.recording ?? {};
      // Applies all rules in the request, not just changed ones, so that a retry completes a failed update.
      if (requireSignedURLs !== undefined || allowedOrigins !== undefined) {
        const { recording } = updatedRow.input;
        await guard(account, uid, {
          ...(requireSignedURLs !== undefined && { requireSignedURLs: recording.requireSignedURLs }),
          ...(allowedOrigins !== undefined && { allowedOrigins: recording.allowedOrigins }),
        });
      }
      return updatedRow;
    },
    rotateKeys: (account, uid) => alter(account, uid, () => ({ ...keysOf(uid), rotated_at: clock.now() })),
    async delete(account, uid) {
      if (!isHexId(uid) || !(await table.delete(account, uid))) throw streamErrors.liveInputNotFound({ uid });
      directory.changed(uid);
    },
    history: async (account, uid, page) => history.history((await find(account, uid)).uid, page),
  };
}

import { type Clock, type Ids, isHexId } from "../../../kernel/index.ts";
import type { Events, Secrets } from "../../../store/index.ts";
import { streamErrors } from "../../errors.ts";
import type { InputsTable } from "./inputs-table.ts";
import { checkTarget, type OutputTarget } from "./output-target.ts";
import type { OutputsTable } from "./outputs-table.ts";
import type { LiveOutput, LiveOutputStatus } from "./port.ts";
import type { OutputRow } from "./live-table.ts";
import type { OwnedLiveOutputs } from "./types.ts";

interface OutputsDeps {
  table: OutputsTable;
  inputs: Pick<InputsTable, "find">;
  secrets: Pick<Secrets, "seal" | "open">;
  events: Events;
  clock: Pick<Clock, "now">;
  ids: Pick<Ids, "hex">;
  /** Also allow loopback and private addresses. */
  allowPrivate: boolean;
}

/** The id of the event is the uid of the input. */
export const OUTPUTS_CHANGED = "stream.live.outputs";
const MAX_OUTPUTS = 50;
const MAX_REASON_LENGTH = 500;
const sealedFor = (uid: string): string => `stream/live-output/${uid}`;

/** Creates restream targets of inputs. */
export function createOutputs({
  table,
  inputs,
  secrets,
  events,
  clock,
  ids,
  allowPrivate,
}: OutputsDeps): OwnedLiveOutputs {
  const fromRow = ({ uid, input_uid: input, target, enabled, created_at: created, status }: OutputRow): LiveOutput => ({
    uid,
    input,
    ...(JSON.parse(secrets.open(target, sealedFor(uid))) as OutputTarget),
    enabled: enabled === 1,
    created,
    status: status === null ? null : (JSON.parse(status) as LiveOutputStatus),
  });
  const list = async (input: string) => (await table.list(input)).map(fromRow);

  /** Throws liveInputNotFound. */
  async function checkOwner(account: string, input: string): Promise<void> {
    const row = isHexId(input) ? await inputs.find(input) : undefined;
    if (row?.account_id !== account) throw streamErrors.liveInputNotFound({ uid: input });
  }
  const publishChange = (input: string) => events.publish(OUTPUTS_CHANGED, input);
  const notFoundError = (uid: string) => streamErrors.liveOutputNotFound({ uid });

  return {
    list,
    async recordStatus(output, { state, reason }) {
      const storedStatus: LiveOutputStatus = {
        state,
        ...(reason !== undefined && { reason: reason.slice(0, MAX_REASON_LENGTH) }),
        at: clock.now(),
      };
      if (isHexId(output)) await table.note(output, JSON.stringify(storedStatus));
    },
    onChange: (listener) => events.subscribe(OUTPUTS_CHANGED, listener),
    async of(account, input) {
      await checkOwner(account, input);
      return list(input);
    },
    async create(account, input, { enabled, ...given }) {
      await checkOwner(account, input);
      const uid = ids.hex();
      const row: OutputRow = {
        uid,
        input_uid: input,
        target: secrets.seal(JSON.stringify(checkTarget(given, allowPrivate)), sealedFor(uid)),
        enabled: enabled ? 1 : 0,
        created_at: clock.now(),
        status: null,
      };
      const insertedOutput = await table.insert(row, MAX_OUTPUTS);
      if (insertedOutput === "gone") throw streamErrors.liveInputNotFound({ uid: input });
      if (insertedOutput === "full") throw streamErrors.liveTooManyOutputs({ limit: MAX_OUTPUTS });
      publishChange(input);
      return fromRow(row);
    },
    async setEnabled(account, input, output, enabled) {
      await checkOwner(account, input);
      const row = isHexId(output) ? await table.setEnabled(input, output, enabled ? 1 : 0) : undefined;
      if (row === undefined) throw notFoundError(output);
      publishChange(input);
      return fromRow(row);
    },
    async delete(account, input, output) {
      await checkOwner(account, input);
      if (!isHexId(output) || !(await table.delete(input, output))) throw notFoundError(output);
      publishChange(input);
    },
  };
}

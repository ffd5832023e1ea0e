import { amfObject, type AmfObject, type AmfValue, readAmf0, writeAmf0 } from "./amf0.ts";
import { MESSAGE, type RtmpMessage } from "./messages.ts";
import { RtmpViolation } from "./violation.ts";

/** Command name (7.2): "connect", "publish", "onStatus", … */
export interface RtmpCommand {
  name: string;
  /** Transaction id for the response; 0 if none is expected. */
  transaction: number;
  /** Command object; undefined if null. */
  object: AmfObject | undefined;
  args: AmfValue[];
}

/** Reads a command. Undefined for messages that are not commands. Throws RtmpViolation if malformed. */
export function readCommand({ type, data }: RtmpMessage): RtmpCommand | undefined {
  if (type !== MESSAGE.command && type !== MESSAGE.commandAmf3) return undefined;
  // An AMF 3 command is an AMF 0 command after a zero octet; its values could be AMF 3, but in practice never are.
  const [name, transaction, object, ...args] = readAmf0(type === MESSAGE.command ? data : data.subarray(1));
  if (typeof name !== "string") throw new RtmpViolation("a command has no name");
  return { name, transaction: typeof transaction === "number" ? transaction : 0, object: amfObject(object), args };
}

export const writeCommand = (
  name: string,
  transaction: number,
  object: AmfObject | null,
  ...args: AmfValue[]
): Buffer => writeAmf0(name, transaction, object, ...args);

/** 7.2.2: writes the status of a stream as a code ("NetStream.Publish.Start") and a description. */
export const writeStatus = (level: "status" | "error", code: string, description: string): Buffer =>
  writeCommand("onStatus", 0, null, { level, code, description });

/** Reads the contents of onStatus, _result and _error; missing texts are empty. */
export function readStatus({ args }: RtmpCommand): { level: string; code: string; description: string } {
  const about = args.map(amfObject).find((object) => object !== undefined);
  const text = (value: AmfValue) => (typeof value === "string" ? value : "");
  return { level: text(about?.["level"]), code: text(about?.["code"]), description: text(about?.["description"]) };
}

/** Reads stream metadata, with or without @setDataFrame; undefined for other data. Throws RtmpViolation. */
export function readMetadata({ type, data }: RtmpMessage): AmfObject | undefined {
  if (type !== MESSAGE.data && type !== MESSAGE.dataAmf3) return undefined;
  const [first, ...more] = readAmf0(type === MESSAGE.data ? data : data.subarray(1));
  const [name, about] = first === "@setDataFrame" ? more : [first, more[0]];
  return name === "onMetaData" ? amfObject(about) : undefined;
}

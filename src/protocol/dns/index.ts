export { CLASS_IN, FLAG, optRecord, readMessage, type RecordDraft, writeMessage } from "./message.ts";
export { RCODE, RCODE_NAMES, rcodeName } from "./rcodes.ts";
export { addressOctets } from "./address-octets.ts";
export { ancestors, isWithin, MAX_NAME, normalDomain, normalHost, normalName } from "./names.ts";
export { octetsOf, quote } from "./octets.ts";
export { checkData, MAX_TXT_OCTETS, presentData, readData, RecordDataError, type RecordData } from "./record-data.ts";
export { type Edns, type Query, readQuery } from "./query.ts";
export { isRecordType, layoutOf, RECORD_TYPES, type RecordType, typeNumber } from "./record-types.ts";
export { bareReply, type RecordSet, type Reply, UDP_PAYLOAD, udpLimit, writeBareHeader, writeReply } from "./reply.ts";
export { DnsSyntaxError } from "./syntax-error.ts";
export { words, type Token } from "./tokens.ts";
export { txtText } from "./txt-text.ts";
export {
  readTsigKey,
  signMessage,
  TSIG_ALGORITHMS,
  type TsigAlgorithm,
  type TsigKey,
  type TsigVerdict,
  verifyReply,
} from "./tsig.ts";
export { type Prerequisite, type Update, type UpdateStep, writeUpdate } from "./update.ts";
export { readRecordData, type WireType } from "./wire-data.ts";
export { dataToWire, writeData } from "./wire-data-write.ts";
export { type Header, MalformedMessage, readHeader } from "./wire-reader.ts";
export { createWireWriter, MAX_MESSAGE, type WireWriter } from "./wire-writer.ts";
export { readZoneFile, type ZoneFile, type ZoneFileRecord } from "./zone-file-read.ts";
export { opaqueLine, SOA_TIMES, soaLine, zoneFileLine } from "./zone-file-write.ts";

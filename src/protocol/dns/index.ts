export { CLASS_IN, HEADER_FLAG, optRecord, readDnsMessage, type WireRecord, writeMessage } from "./message.ts";
export { RCODE, RCODE_NAMES, rcodeName } from "./rcodes.ts";
export { addressOctets } from "./address-octets.ts";
export { ancestors, isWithin, MAX_NAME_LENGTH, normalizeDomain, normalizeHost, normalizeName } from "./names.ts";
export { octetsOf, quote } from "./octets.ts";
export { checkData, presentData, readData, RecordDataError, type RecordData } from "./record-data.ts";
export { type Query, readQuery } from "./query.ts";
export { hasNamedFields, isRecordType, layoutOf, RECORD_TYPES, type RecordType, typeNumber } from "./record-types.ts";
export {
  emptyReply,
  type RecordSet,
  type DnsReply,
  UDP_PAYLOAD,
  udpLimit,
  writeHeaderOnlyReply,
  writeReply,
} from "./reply.ts";
export { DnsSyntaxError } from "./syntax-error.ts";
export { splitWords, type MasterFileToken } from "./tokens.ts";
export { txtText } from "./txt-text.ts";
export { readTsigKey, signMessage, type TsigKey, type TsigVerdict, verifyReply } from "./tsig.ts";
export { type Prerequisite, type UpdateStep, writeUpdate } from "./update.ts";
export { readRecordData, type WireType } from "./wire-data.ts";
export { writeRecordData } from "./wire-data-write.ts";
export { type Header, MalformedMessage, readDnsHeader } from "./wire-reader.ts";
export { MAX_MESSAGE_OCTETS } from "./wire-writer.ts";
export { readZoneFile, type ZoneFileRecord } from "./zone-file-read.ts";
export { SOA_TIMES, soaLine, zoneFileLine } from "./zone-file-write.ts";

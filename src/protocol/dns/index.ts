export { ancestors, isWithin, MAX_NAME, normalDomain, normalHost, normalName } from "./names.ts";
export { octetsOf, quote } from "./octets.ts";
export { checkData, MAX_TXT_OCTETS, presentData, readData, RecordDataError, type RecordData } from "./record-data.ts";
export { isRecordType, layoutOf, RECORD_TYPES, type RecordType } from "./record-types.ts";
export { DnsSyntaxError } from "./syntax-error.ts";
export { words, type Token } from "./tokens.ts";
export { dataFromWire } from "./wire-data.ts";
export { readZoneFile, type ZoneFile, type ZoneFileRecord } from "./zone-file-read.ts";
export { opaqueLine, soaLine, zoneFileLine } from "./zone-file-write.ts";

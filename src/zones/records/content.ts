import { presentData, readData, splitWords, type RecordData, type RecordType } from "../../protocol/dns/index.ts";

/** For these types the priority is a field of the record, not part of the content. */
const PRIORITY_TYPES = new Set<RecordType>(["MX", "SRV", "URI"]);
export const hasPriority = (type: RecordType): boolean => PRIORITY_TYPES.has(type);

const PROXIABLE = new Set<RecordType>(["A", "AAAA", "CNAME"]);
export const isProxiable = (type: RecordType): boolean => PROXIABLE.has(type);

export function contentOf(type: RecordType, data: RecordData): string {
  const fullContent = presentData(type, data);
  return hasPriority(type) ? fullContent.slice(fullContent.indexOf(" ") + 1) : fullContent;
}

/** The data of a stored record, for writing or serving it. */
export const dataOf = ({
  type,
  content,
  priority,
}: {
  type: RecordType;
  content: string;
  priority: number | null;
}): RecordData => readData(type, splitWords(hasPriority(type) ? `${priority ?? 0} ${content}` : content), { apex: "" });

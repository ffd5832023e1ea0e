/**
 * Returns NAL units with length fields of `size` octets, checked and converted to length fields of four octets;
 * undefined if they do not fit into the data. Without a size the data is not checked.
 */
export function withLongLengths(data: Buffer, size: number | undefined): Buffer | undefined {
  if (size === undefined) return data;
  const parts: Buffer[] = [];
  for (let offset = 0; offset < data.length;) {
    if (offset + size > data.length) return undefined;
    const length = data.readUIntBE(offset, size);
    const from = offset + size;
    offset = from + length;
    if (offset > data.length) return undefined;
    if (size === 4) continue;
    const head = Buffer.allocUnsafe(4);
    head.writeUInt32BE(length);
    parts.push(head, data.subarray(from, offset));
  }
  return size === 4 ? data : Buffer.concat(parts);
}

/**
 * CRC-32 of MPEG-2 tables (ISO 13818-1, annex A): polynomial 0x04c11db7, most significant bit first, initialised with
 * ones, not inverted. The result over a table including its CRC is 0.
 */
export function crc32(bytes: Buffer): number {
  let crc = 0xffff_ffff;
  for (const octet of bytes) crc = (crc << 8) ^ CRC_TABLE[((crc >>> 24) ^ octet) & 255]!;
  return crc >>> 0;
}

const CRC_TABLE = Int32Array.from({ length: 256 }, (_, n) => {
  let value = n << 24;
  for (let i = 0; i < 8; i++) value = (value << 1) ^ (value < 0 ? 0x04c1_1db7 : 0);
  return value;
});

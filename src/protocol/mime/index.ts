export { boundaryOf, mediaTypeOf } from "./content-type.ts";
export { planSevenBit, sevenBitBody, sevenBitHeader } from "./seven-bit.ts";

/** Writes bytes, and texts that are not well formed, as base64. */

type Build = (bytes: Uint8Array) => ArrayBufferView;

interface TypedArrayConstructor {
  readonly BYTES_PER_ELEMENT: number;
  new (buffer: ArrayBuffer): ArrayBufferView;
}

/** Builds the typed array of that name out of bytes, lowest byte first; throws a RangeError when some are over. */
export const TYPED_ARRAYS: ReadonlyMap<string, Build> = new Map<string, Build>([
  ['Buffer', (bytes) => Buffer.from(bytes)],
  ...[
    Int8Array,
    Uint8Array,
    Uint8ClampedArray,
    Int16Array,
    Uint16Array,
    Int32Array,
    Uint32Array,
    Float32Array,
    Float64Array,
    BigInt64Array,
    BigUint64Array,
  ].map((Typed): [string, Build] => [Typed.name, (bytes) => new (Typed as TypedArrayConstructor)(bufferOf(bytes))]),
]);

export function base64({ buffer, byteOffset, byteLength }: ArrayBufferView): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('base64');
}

/** A text as UTF-16, lowest byte first, which holds lone surrogates too. */
export function utf16(text: string): string {
  return Buffer.from(text, 'utf16le').toString('base64');
}

/** Undefined: it is no base64. */
export function bytesOf(form: unknown): Buffer | undefined {
  if (typeof form !== 'string') return undefined;
  const bytes = Buffer.from(form, 'base64');
  // What is no digit is skipped without a word: the length tells.
  return bytes.length === Buffer.byteLength(form, 'base64') ? bytes : undefined;
}

/** A copy that begins at 0, as a typed array of wide elements needs it. */
export function bufferOf(bytes: Uint8Array): ArrayBuffer {
  return new Uint8Array(bytes).buffer;
}

/**
 * Payload bytes as a string of one character for each byte: it can be a key, and compares as Redis compares members,
 * byte by byte.
 */
export type Text = string;

export const textOf = (bytes: Buffer): Text => bytes.toString('latin1');

export const bytesOf = (text: Text): Buffer => Buffer.from(text, 'latin1');

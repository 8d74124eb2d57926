/**
 * Seals what nobody may read who has access to a store: the data of encrypted jobs, and what else is kept of them.
 *
 * A sealed text is `v1.<key>.<iv>.<text>.<tag>`: AES-256-GCM with a fresh iv, its parts in base64url. The name and the id of the job, the
 * key and the kind of the text are authenticated with it, so that a text that was changed or moved to another job is refused.
 */
import { createCipheriv, createDecipheriv, createSecretKey, randomBytes, type KeyObject } from 'node:crypto';
import { noEncryptionKey, tamperedPayload, UnknownKeyError } from './errors';

export interface EncryptionConfig {
  /** The name of the key that seals from now on. */
  readonly use: string;
  /** All keys by name: 32 random bytes each, in base64. A text is opened with the key that it names. */
  readonly keys: Readonly<Record<string, string>>;
}

/** What a sealed text belongs to. */
export interface Sealed {
  /** The name of the job, as its payload has it. */
  readonly name: string;
  readonly id: string;
  /** What the text is: it counts as nothing else of the same job. */
  readonly kind: 'data' | 'middleware' | 'result' | `checkpoint ${string}`;
}

/** Seals and opens what is kept of one job. */
export interface Seals {
  seal(text: string, kind: Sealed['kind']): string;
  /** @throws UnknownKeyError, E_TAMPERED_PAYLOAD */
  open(sealed: string, kind: Sealed['kind']): string;
}

export const KEY_BYTES = 32;
export const KEY_NAME = /^[\w-]{1,64}$/;

const CIPHER = 'aes-256-gcm';
const VERSION = 'v1';
const [IV_BYTES, TAG_BYTES] = [12, 16];

/** Finds sealed texts in payloads and records, however deep they are nested. */
const SEALED = /v1\.([\w-]{1,64})\.[\w-]{16}\.[\w-]*\.[\w-]{22}(?![\w-])/g;

/** Undefined if it is no key. */
export function keyIn(text: string): Buffer | undefined {
  const plain = text.replaceAll('-', '+').replaceAll('_', '/').replace(/=+$/, '');
  const bytes = Buffer.from(plain, 'base64');
  return bytes.length > 0 && bytes.toString('base64').replace(/=+$/, '') === plain ? bytes : undefined;
}

export function isSealed(value: unknown): value is string {
  return typeof value === 'string' && value.startsWith(`${VERSION}.`);
}

/** The names of the keys that sealed parts of the text. */
export function keysNamedIn(text: string): ReadonlySet<string> {
  return new Set(Array.from(text.matchAll(SEALED), ([, key]) => key!));
}

export class Vault {
  /** The name of the key that seals. Undefined: there is no encryption. */
  readonly use: string | undefined;
  readonly #keys: ReadonlyMap<string, KeyObject>;

  constructor(config?: EncryptionConfig) {
    this.use = config?.use;
    const keys = Object.entries(config?.keys ?? {});
    this.#keys = new Map(keys.map(([name, key]) => [name, createSecretKey(Buffer.from(key, 'base64'))]));
  }

  get keys(): readonly string[] {
    return [...this.#keys.keys()];
  }

  /** @throws E_NO_ENCRYPTION_KEY */
  seal(text: string, of: Sealed): string {
    const { use } = this;
    if (use === undefined) throw noEncryptionKey(of.name);
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv(CIPHER, this.#keys.get(use)!, iv).setAAD(boundTo(of, use));
    const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
    return [VERSION, use, ...[iv, sealed, cipher.getAuthTag()].map((part) => part.toString('base64url'))].join('.');
  }

  for(of: Omit<Sealed, 'kind'>): Seals {
    return {
      seal: (text, kind) => this.seal(text, { ...of, kind }),
      open: (sealed, kind) => this.open(sealed, { ...of, kind }),
    };
  }

  /**
   * The text that was sealed.
   *
   * @throws UnknownKeyError another worker may have the key
   * @throws E_TAMPERED_PAYLOAD
   */
  open(sealed: string, of: Sealed): string {
    const [version, name = '', ...parts] = sealed.split('.');
    const key = this.#keys.get(name);
    if (version === VERSION && KEY_NAME.test(name) && key === undefined)
      throw new UnknownKeyError(of.name, of.id, name);
    const [iv, text, tag] = parts.map((part) => Buffer.from(part, 'base64url'));
    // Node.js skips what is no base64, and reads two spellings of the last character alike.
    const isExact =
      parts.length === 3 && [iv, text, tag].every((part, at) => part!.toString('base64url') === parts[at]);
    if (version !== VERSION || key === undefined || !isExact || iv!.length !== IV_BYTES || tag!.length !== TAG_BYTES)
      throw tamperedPayload(of.name, of.id);
    try {
      const decipher = createDecipheriv(CIPHER, key, iv!).setAAD(boundTo(of, name)).setAuthTag(tag!);
      return Buffer.concat([decipher.update(text!), decipher.final()]).toString('utf8');
    } catch {
      // Without the cause, which says nothing.
      throw tamperedPayload(of.name, of.id);
    }
  }
}

/** Of a callback that is sent for each progress of a batch, only the end of the id differs: a number after its UUID. */
const UUID_LENGTH = 36;

function boundTo({ name, id, kind }: Sealed, key: string): Buffer {
  return Buffer.from([name, key, id.slice(0, UUID_LENGTH), kind].join('\0'));
}

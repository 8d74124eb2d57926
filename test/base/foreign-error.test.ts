import { inspect } from 'node:util';
import { bare, foreignText, redacted, wordsOf } from '../../src/base/foreign-error';
import { redact, learnSecrets } from '../../src/base/redact';
import { exceptionText } from '../../src/base/exception-text';
import { GuardedLogger } from '../../src/base/logger';
import { QueueUnavailableError } from '../../src/connections/errors';
import { RecordingLogger } from '../support/application';

const CANARY = 'c4nary';

/** Adds the data that drivers attach to their errors. */
const laden = <E extends Error>(error: E): E =>
  Object.assign(error, {
    code: 'E1',
    errno: 7,
    command: { name: 'auth', args: [CANARY] },
    sql: `INSERT '${CANARY}'`,
    parameters: [CANARY],
    $response: { headers: { authorization: CANARY } },
    detail: `Failing row contains (${CANARY})`,
  });

describe('the error of another library', () => {
  it('is kept with its class, name, message, codes, parts and causes, and nothing else', () => {
    class DriverError extends TypeError {}
    const parts = [laden(new Error('first'))];
    const error = laden(new DriverError('it said no', { cause: laden(new Error('below')) }));
    Object.assign(error, { errors: parts });

    const { cause } = new QueueUnavailableError(
      { connection: 'main', store: 'Redis', address: 'h', consequence: 'nothing was done' },
      { cause: error },
    );

    expect(cause).toBeInstanceOf(DriverError);
    expect(cause).toMatchObject({ message: 'it said no', code: 'E1', errno: 7 });
    expect(cause).toHaveProperty('cause.message', 'below');
    expect(cause).toHaveProperty('errors.0.message', 'first');
    // Below the test itself there may be frames of Node.js, depending on how its runner was called.
    expect((cause as Error).stack).toBe(error.stack!.replaceAll(/\n +at [^\n]*node:[^\n]*/g, ''));
    expect(inspect(cause, { depth: Infinity, showHidden: true })).not.toContain(CANARY);
    expect(bare(cause)).toBe(cause);
    expect(bare(error)).toBe(cause);
  });

  it('is printed without its codes, which stay readable, and without frames of Node.js', () => {
    const error = laden(new Error('connect refused'));
    error.stack = 'Error: connect refused\n    at afterConnect [as oncomplete] (node:net:1:1)\n    at node:net:2:1';

    expect(inspect(bare(error))).toBe('[Error: connect refused]');
    expect(bare(error)).toHaveProperty('code', 'E1');
  });

  it('takes no longer for a text that repeats itself, and hides everything up to the last end of a quotation', () => {
    const texts = ["near '", "Duplicate entry '", 'invalid input ', 'Value ', '{"', "near ' at line"];
    for (const text of texts) foreignText(text.repeat(400_000));

    expect(foreignText(`near '${CANARY}' at line, near '${CANARY}' at line 1`)).toBe("near '…' at line 1");
    expect(foreignText(`near '${CANARY}`)).toBe(`near '${CANARY}`);
  });

  it('may be circular, or not an error at all', () => {
    const error = new Error('round');
    error.cause = error;

    expect(bare(error)).toHaveProperty('cause.message', 'round');
    expect(bare({ password: CANARY })).toBe('[object Object]');
    expect(bare(`redis://u:${CANARY}@h`)).toBe('redis://u:***@h');
    expect(bare(undefined)).toBeUndefined();
  });

  it.each([
    [`ERR unknown command 'EVALSHA', with args beginning with: 'a' '${CANARY}`, "ERR unknown command 'EVALSHA'"],
    [`near '${CANARY}' at line 1`, "near '…' at line 1"],
    [`Incorrect string value: '${CANARY}' for column 'payload'`, "Incorrect string value: '…' for column 'payload'"],
    [`Duplicate entry '${CANARY}' for key 'id'`, "Duplicate entry '…' for key 'id'"],
    [`invalid input syntax for type json: "${CANARY}"`, 'invalid input syntax for type json: "…"'],
    [`Value ${CANARY} for parameter MessageBody is invalid`, 'Value … for parameter MessageBody is invalid'],
    [`no: {"job":"x","data":{"a":"${CANARY}"}}, says the trigger`, 'no: {…}, says the trigger'],
    [`cut: {\\"job\\":\\"${CANARY}`, 'cut: {…}'],
  ])('is quoted without data: %s', (text, told) => {
    expect(foreignText(text)).toBe(told);
    expect(wordsOf(new Error(text))).toBe(told);
  });
});

class Client {
  constructor(readonly options: object) {}
}

describe('an error that cannot be copied', () => {
  const unavailable = (cause: unknown): QueueUnavailableError =>
    new QueueUnavailableError(
      { connection: 'main', store: 'Redis', address: 'h', consequence: 'nothing was done' },
      { cause },
    );

  it('is kept readable with its name and message, such as that of an aborted fetch', () => {
    const { cause } = unavailable(new DOMException('took too long', 'TimeoutError'));

    expect(cause).toBeInstanceOf(DOMException);
    expect(cause).toMatchObject({ name: 'TimeoutError', message: 'took too long', code: DOMException.TIMEOUT_ERR });
    expect(inspect(cause)).toContain('took too long');
  });

  it('is replaced if it cannot be read, and does not hide another error', () => {
    const unreadable = new Proxy(new Error('x'), {
      get: () => {
        throw new Error('not to be read');
      },
    });

    expect(unavailable(unreadable).cause).toHaveProperty('message', 'an unreadable error');
  });
});

describe('a secret in the configuration', () => {
  const password = 'Tr0ub4dor&3/@x';

  it('is masked by its value in any encoding', () => {
    learnSecrets({ connections: { main: { driver: 'redis', url: `redis://u:${encodeURIComponent(password)}@h` } } });

    for (const form of [password, encodeURIComponent(password), JSON.stringify({ a: password })]) {
      expect(redact(`it said ${form}!`)).not.toMatch(/Tr0ub4dor/);
    }
    expect(exceptionText(new Error(`the answer to ${password}`))).not.toContain('Tr0ub4dor');
  });

  it.each<[string, (secret: string) => unknown]>([
    ['beside an address', (password) => ({ password })],
    ['in options', (passphrase) => ({ options: { tls: { passphrase } } })],
    ['of the sentinels', (sentinelPassword) => ({ sentinelPassword })],
    ['of a service', (secretAccessKey) => ({ credentials: { secretAccessKey } })],
    ['of nodes', (secret) => ({ cluster: [`redis://:${secret}@h:1`] })],
    ['of a client', (password) => new Client({ password })],
    ['of a TLS key', (key) => ({ tls: { key } })],
  ])('is found %s', (place, config) => {
    const secret = `S3cret-${place.replaceAll(' ', '-')}`;
    learnSecrets({ main: config(secret) });

    expect(redact(`it said ${secret}`)).toBe('it said ***');
  });

  it('is not masked if it is a common word', () => {
    learnSecrets({ password: 'postgres', token: 'abc', url: 'postgres://postgres:onqueue@h' });

    expect(redact('onqueue on postgres says abc')).toBe('onqueue on postgres says abc');
  });
});

describe('the facts and log lines of errors', () => {
  it('contain no secrets', () => {
    const logger = new RecordingLogger();
    const url = `redis://u:${CANARY}@h`;
    const facts = { url, list: [{ password: CANARY, at: 1 }], err: laden(new Error(`no ${url}`)), none: undefined };

    new GuardedLogger(logger).error(facts, `no ${url}`);
    new GuardedLogger(logger).warn(facts, `no ${url}`);

    expect(inspect([logger.lines, redacted(facts)], { depth: Infinity })).not.toContain(CANARY);
    expect(redacted(facts)).toMatchObject({ url: 'redis://u:***@h', list: [{ password: '***', at: 1 }] });
  });

  it('contain no private keys', () => {
    const key = `-----BEGIN EC PRIVATE KEY-----\n${CANARY}\n-----END EC PRIVATE KEY-----`;

    expect(redact(`key: ${key} and ${JSON.stringify(key)}`)).not.toContain(CANARY);
  });
});

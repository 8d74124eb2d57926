import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Reservation } from '../../../src/connections/contract';
import { idOf, payload, reserve, TemporaryDatabase } from './open-database';
import { reserveFrom, settleIn } from '../../support/exchange';

let database: TemporaryDatabase;

beforeEach(() => {
  database = new TemporaryDatabase();
});

afterEach(() => database.dispose());

const pushTo = (url: string): Promise<unknown> =>
  database.connect({ url }).push('default', [{ payload: payload('a') }]);

describe('the url of a database connection', () => {
  it.each([
    ['a path relative to the root folder', 'sqlite:./data.sqlite'],
    ['a path without a dot', 'sqlite:data.sqlite'],
  ])('can be %s', async (_, url) => {
    const connection = database.connect({ url });
    await connection.queues.names();
    expect(connection.address).toBe(join(database.folder, 'data.sqlite'));
    expect(existsSync(connection.address)).toBe(true);
  });

  it.each(['sqlite:', 'sqlite://'])('can be an absolute path after %s', async (start) => {
    const connection = database.connect({ url: `${start}${database.file}` });
    expect(connection.address).toBe(database.file);
  });

  it('is onqueue.sqlite in the root folder by default', () => {
    expect(database.connect({ url: undefined }).address).toBe(join(database.folder, 'onqueue.sqlite'));
  });

  it('resolves symbolic links, so that each file is one store', async () => {
    mkdirSync(join(database.folder, 'real'));
    symlinkSync(join(database.folder, 'real'), join(database.folder, 'link'));
    expect(database.connect({ url: 'sqlite:link/a.sqlite' }).address).toBe(join(database.folder, 'real/a.sqlite'));
  });

  it.each(['oracle://user:hunter2@db/jobs', 'user:hunter2@db/jobs'])(
    'is refused without showing its password, naming the supported databases, if it is of another one: %s',
    (url) => {
      const connect = (): unknown => database.connect({ url });
      expect(connect).toThrow(expect.objectContaining({ code: 'E_DATABASE_URL' }));
      expect(connect).toThrow(
        /not one of the supported databases: sqlite, postgres.*Write 'sqlite:\.\/onqueue\.sqlite'/,
      );
      expect(connect).not.toThrow(/hunter2/);
    },
  );

  it.each(['sqlite:', 'sqlite://host', 'onqueue.sqlite', 'sqlite::memory:', 'sqlite:file:a.db', 'sqlite:a.db?mode=ro'])(
    'is refused if it names no file, or a query would become part of its name: %s',
    (url) => {
      expect(() => database.connect({ url })).toThrow(expect.objectContaining({ code: 'E_DATABASE_URL' }));
    },
  );
});

describe('a file', () => {
  it('is not created before the connection is used', async () => {
    database.connect();
    expect(existsSync(database.file)).toBe(false);
  });

  it('in a missing folder is refused with the remedy, and works once the folder exists', async () => {
    const connection = database.connect({ url: 'sqlite:missing/a.sqlite' });
    const push = (): Promise<unknown> => connection.push('default', [{ payload: payload('a') }]);
    const folder = join(database.folder, 'missing');
    await expect(push()).rejects.toThrow(
      `${folder}/a.sqlite cannot be made: the folder ${folder} does not exist; the job was not queued. Create it, or correct \`url\`.`,
    );
    mkdirSync(folder);
    await push();
    expect((await reserve(connection)).map(idOf)).toEqual(['a']);
  });

  it('that is not a database is refused and left unchanged', async () => {
    const text = 'Dear diary, '.repeat(1000);
    writeFileSync(database.file, text);
    const push = pushTo(`sqlite:${database.file}`);
    await expect(push).rejects.toMatchObject({ code: 'E_DATABASE_FILE' });
    await expect(push).rejects.toMatchObject({ facts: { file: database.file, reason: 'SQLITE_NOTADB' } });
    expect(readFileSync(database.file, 'utf8')).toBe(text);
  });

  it('that is damaged is refused', async () => {
    const entries = Array.from({ length: 500 }, (_, index) => ({ payload: payload(`${index}`) }));
    const connection = database.connect();
    await connection.push('default', entries);
    await connection.close();
    writeFileSync(database.file, readFileSync(database.file).fill(0x5a, 4096));
    await expect(reserve(database.connect())).rejects.toMatchObject({
      code: 'E_DATABASE_FILE',
      facts: { reason: 'SQLITE_CORRUPT' },
    });
  });

  it('that was replaced by another is reported as having lost data, once', async () => {
    const connection = database.connect();
    const request = { queues: ['default'], limit: 1, lease: 60 };
    await connection.push('default', [{ payload: payload('a') }]);
    expect((await reserveFrom(connection, request)).forgotten).toBeUndefined();
    for (const end of ['', '-wal', '-shm']) rmSync(`${database.file}${end}`);
    await connection.push('default', [{ payload: payload('b') }]);
    expect(await reserveFrom(connection, request)).toMatchObject({
      reservations: [expect.anything()],
      forgotten: true,
    });
    expect((await connection.exchange([], request)).reply.forgotten).toBeUndefined();
  });

  it('that is a folder is refused', async () => {
    await expect(pushTo(`sqlite:${database.folder}`)).rejects.toThrow(/is a folder; .* Let `url` name a file in it\.$/);
  });
});

describe('a payload', () => {
  it('keeps what follows a NUL character', async () => {
    const connection = database.connect();
    await connection.push('default', [{ payload: 'no json \0 but bytes' }]);
    await reserve(connection);
    const [entry] = await connection.failed.list({ limit: 1 });
    expect(entry?.payload.toString()).toBe('no json \0 but bytes');
  });

  it('that is not a JSON object becomes a failed job with a name and a helpful error', async () => {
    const connection = database.connect();
    await connection.push('default', [{ payload: 'no json' }]);
    await reserve(connection);
    const [entry] = await connection.failed.list({ limit: 1 });
    expect(entry).toMatchObject({
      name: '(unreadable)',
      exception: expect.stringMatching(/^E_INVALID_PAYLOAD: .*docs\/format\.md/) as string,
    });
  });

  it('that is not UTF-8 comes back from the failed store byte for byte', async () => {
    const connection = database.connect();
    const bytes = Buffer.concat([
      Buffer.from('{"x":"'),
      Buffer.from([0xff, 0xc0]),
      Buffer.from('","id":"a","attempts":3}'),
    ]);
    const failure = {
      id: 'a',
      name: 'Probe',
      exception: 'Error: \0 \u{1f600}',
      connection: 'x',
      queue: 'default',
      attempts: 3,
    };
    await connection.failed.put({ ...failure, payload: bytes });
    const [entry] = await connection.failed.find('a');
    expect(entry).toMatchObject({ ...failure, payload: bytes });
    await connection.failed.retry(entry!, bytes);
    const [held] = (await reserve(connection)) as [Reservation];
    expect(held.payload.toString('latin1')).toBe(bytes.toString('latin1').replace('3}', '4}'));
    expect(await settleIn(connection, [{ outcome: 'completed', reservation: held }])).toEqual(['settled']);
  });
});

describe('a list without a limit', () => {
  it('shows all entries', async () => {
    const connection = database.connect();
    await connection.push('default', [{ payload: 'no json' }, { payload: payload('a') }]);
    await reserve(connection, { limit: 1 });
    expect(await connection.failed.list({ limit: Infinity })).toHaveLength(1);
    expect(await connection.queues.peek('default', 'ready', Infinity)).toHaveLength(1);
    expect(await connection.failed.prune({ keep: Infinity })).toBe(0);
  });
});

import fs from 'node:fs';
import { mkdirSync } from 'node:fs';
import { TemporaryDatabase } from '../open-database';

let database: TemporaryDatabase;

beforeEach(() => {
  database = new TemporaryDatabase();
});

afterEach(async () => {
  jest.restoreAllMocks();
  await database.dispose();
});

describe('the diagnosis of a SQLite file', () => {
  it('reports the version, the path and the journal mode', async () => {
    expect(await database.connect().diagnose()).toContainEqual({
      level: 'ok',
      subject: 'database',
      message: expect.stringMatching(new RegExp(`^SQLite 3\\.\\d+\\.\\d+ .*${database.file}.*wal$`)) as unknown,
    });
  });

  it('warns of a file system shared by several machines', async () => {
    jest.spyOn(fs, 'statfsSync').mockReturnValue({ type: 0x6969 } as fs.StatsFs);
    expect(await database.connect().diagnose()).toContainEqual({
      level: 'warning',
      subject: 'database',
      message: expect.stringContaining('is on NFS') as unknown,
      endangersJobs: true,
    });
  });

  it.each([
    ['warns of a disk that is nearly full', { bavail: 40, blocks: 1000 }, 1],
    ['says nothing of a disk with room', { bavail: 60, blocks: 1000 }, 0],
    ['says nothing of a large disk with much room', { bavail: 11_000, blocks: 1_000_000 }, 0],
  ])('%s', async (_what, disk, warnings) => {
    jest.spyOn(fs, 'statfsSync').mockReturnValue({ type: 0, bsize: 1024 ** 2, ...disk } as fs.StatsFs);

    const found = await database.connect().diagnose();

    expect(found.filter(({ message }) => message.includes('has only 40 MiB left'))).toHaveLength(warnings);
    expect(found.filter(({ level }) => level !== 'ok')).toHaveLength(warnings);
  });

  it('says why a file cannot be opened', async () => {
    mkdirSync(database.file);
    expect(await database.connect().diagnose()).toEqual([
      {
        level: 'error',
        subject: 'database',
        message: expect.stringMatching(/is a folder; it was not examined/) as unknown,
      },
    ]);
  });
});

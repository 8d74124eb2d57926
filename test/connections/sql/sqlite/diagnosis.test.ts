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
    expect(await database.connect().diagnose()).toEqual([
      {
        level: 'ok',
        subject: 'database',
        message: expect.stringMatching(new RegExp(`^SQLite 3\\.\\d+\\.\\d+ .*${database.file}.*wal$`)) as unknown,
      },
    ]);
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

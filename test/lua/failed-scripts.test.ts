import { probe, ScriptWorld } from './script-world';

const META = '{"name":"Probe","exception":"Error: no"}';

describe('the scripts of failed jobs', () => {
  let world: ScriptWorld;

  beforeAll(async () => {
    world = await ScriptWorld.start();
  });
  beforeEach(() => world.fresh());
  afterAll(() => world.stop());

  const keep = (id: string, payload = probe(id)): Promise<unknown[]> => {
    const { failed, failedJobs } = world.queue();
    return world.run('keep', [failed, failedJobs], [id, META, payload, 'own']);
  };
  const retry = (id: string, expected: string, payload: string, sequence = 1): Promise<unknown[]> => {
    const { client, failed, failedJobs, ready, notify, cancelled, reasons, unique, batches, cancelledBatches } =
      world.queue();
    const keys = [
      client('c'),
      failed,
      failedJobs,
      ready,
      notify,
      cancelled,
      reasons,
      unique,
      batches,
      cancelledBatches,
      ...world.laneKeys,
    ];
    return world.run('retry', keys, [sequence, id, expected, payload]);
  };
  const forget = (id: string, sequence = 1): Promise<unknown[]> => {
    const { client, failed, failedJobs } = world.queue();
    return world.run('forget', [client('c'), failed, failedJobs], [sequence, id]);
  };
  const prune = (olderThan: number | 'any', newest: number, sequence = 1): Promise<unknown[]> => {
    const { client, failed, failedJobs } = world.queue();
    return world.run('prune', [client('c'), failed, failedJobs], [sequence, olderThan, newest]);
  };
  /** Keeps failed jobs: `a` failed a thousand seconds before `b`, and so on. */
  const failInTurn = async (...ids: string[]): Promise<void> => {
    for (const id of ids) {
      await keep(id);
      world.offset += 1000;
    }
  };
  const left = (): Promise<string[]> => world.client.zrange(world.queue().failed, '0', '-1');

  describe('keep.lua', () => {
    it('keeps a failed job with its error and its bytes', async () => {
      expect(await keep('a')).toEqual(['kept', 'a']);
      expect(await world.whole()).toMatchObject({ 'q:failed:jobs': { a: `${META}\n${probe('a')}` } });
    });

    it('replaces an earlier failure of the same job, even in a repeat', async () => {
      const later = probe('a').replace('"attempts":0', '"crashes":1,"attempts":2');
      await keep('a');
      await keep('a', later);
      await keep('a', later);
      expect(await world.state()).toEqual({ 'q:failed': [['a', 0]], 'q:failed:jobs': { a: `${META}\n${later}` } });
    });

    it('keeps another job with the same id beside it, under the given id', async () => {
      await keep('a', 'unreadable');
      await keep('a');
      await keep('a');
      expect(await world.state()).toMatchObject({
        'q:failed:jobs': { a: `${META}\nunreadable`, own: `${META}\n${probe('a')}` },
      });
    });
  });

  describe('sift.lua', () => {
    const sift = (texts: readonly string[], ids: readonly string[]): Promise<unknown[]> =>
      world.run('sift', [world.queue().failedJobs], [...texts, ...ids]);

    it('reads the jobs whose line has the texts, and whose payload has that of a batch', async () => {
      await keep('a');
      await keep('b', '{"batch":"n1","said":"Error: no"}');
      await world.client.hset(world.queue().failedJobs, 'foreign', 'no line, and Error: no');
      const before = await world.state();
      expect(await sift(['', '', 'Error: no', ''], ['a', 'gone', 'foreign', 'b'])).toEqual([
        'sifted',
        4,
        1,
        `${META}\n${probe('a')}`,
        4,
        `${META}\n{"batch":"n1","said":"Error: no"}`,
      ]);
      expect(await sift(['', 'Probe', '', 'n1'], ['a', 'b'])).toEqual(['sifted', 2, 2, expect.any(String)]);
      expect(await sift(['', 'n1', '', ''], ['a', 'b'])).toEqual(['sifted', 2]);
      expect(await sift(['', '', '', ''], ['foreign'])).toEqual(['sifted', 1, 1, 'no line, and Error: no']);
      expect(await sift(['', '', '', ''], [])).toEqual(['sifted', 0]);
      expect(await world.state()).toEqual(before);
    });

    it('looks at 1 MiB at most, and at one job in any case', async () => {
      const half = 'x'.repeat(600_000);
      await Promise.all(['a', 'b', 'c'].map((id) => keep(id, `{"id":"${id}","x":"${half}"}`)));
      await keep('huge', half.repeat(3));
      expect(await sift(['none', '', '', ''], ['gone', 'a', 'b', 'c'])).toEqual(['sifted', 2]);
      expect(await sift(['none', '', '', ''], ['huge', 'a'])).toEqual(['sifted', 1]);
    });

    it('looks at 100 jobs at most', async () => {
      const ids = Array.from({ length: 101 }, (_, at) => String(at));
      await world.client.hset(world.queue().failedJobs, Object.fromEntries(ids.map((id) => [id, `${META}\n${id}`])));
      expect(await sift(['none', '', '', ''], ids)).toEqual(['sifted', 100]);
    });
  });

  describe('retry.lua', () => {
    it('moves the job to the tail of its queue, and leaves a hint', async () => {
      await keep('a');
      await world.push([probe('b')]);
      await world.client.del(world.queue().notify);
      expect(await retry('a', probe('a'), 'again')).toEqual(['retried']);
      expect(await world.state()).toEqual({ q: [probe('b'), 'again'], 'q:notify': ['1'] });
    });

    it('removes the cancellation mark of the job, because it should run', async () => {
      await keep('a');
      await world.mark('a', 'b');
      await retry('a', probe('a'), probe('a'));
      expect(await world.marks()).toEqual(['b']);
    });

    it('finds a payload that contains line breaks', async () => {
      await keep('a', '{\n"x":1\n}');
      expect(await retry('a', '{\n"x":1\n}', 'again')).toEqual(['retried']);
    });

    it.each([
      ['is not there', 'b', probe('b')],
      ['has failed again since it was read', 'a', probe('a', 7)],
    ])('does nothing with a job that %s', async (_, id, expected) => {
      await keep('a');
      const before = await world.whole();
      expect(await retry(id, expected, 'again')).toEqual(['absent']);
      expect(await world.whole()).toEqual(before);
    });

    it('returns the recorded answer to a repeat and retries nothing twice', async () => {
      await keep('a');
      await retry('a', probe('a'), 'again');
      await keep('a');
      const before = await world.whole();
      expect(await retry('a', probe('a'), 'again')).toEqual(['retried']);
      expect(await world.whole()).toEqual(before);
    });

    it('refuses a call that is older than one it has carried out', async () => {
      await keep('a');
      await retry('a', probe('a'), 'again', 2);
      expect(await retry('a', probe('a'), 'again', 1)).toEqual(['stale']);
    });
  });

  describe('forget.lua', () => {
    it('removes one failed job and keeps the others', async () => {
      await keep('a');
      await keep('b');
      expect(await forget('a')).toEqual(['forgotten']);
      expect(await world.state()).toEqual({ 'q:failed': [['b', 0]], 'q:failed:jobs': { b: `${META}\n${probe('b')}` } });
    });

    it('does nothing if the job is missing', async () => {
      expect(await forget('a')).toEqual(['absent']);
      expect(await world.whole()).toEqual({});
    });

    it('returns the recorded answer to a repeat, and refuses an older call', async () => {
      await keep('a');
      await forget('a', 2);
      expect(await forget('a', 2)).toEqual(['forgotten']);
      expect(await forget('a', 1)).toEqual(['stale']);
    });
  });

  describe('prune.lua', () => {
    it('removes jobs that failed longer ago than the given age', async () => {
      await failInTurn('a', 'b', 'c');
      expect(await prune(1500, 0)).toEqual(['pruned', 2, 'done']);
      expect(await left()).toEqual(['c']);
      expect(await world.client.hkeys(world.queue().failedJobs)).toEqual(['c']);
    });

    it('keeps the newest', async () => {
      await failInTurn('a', 'b', 'c');
      expect(await prune('any', 2)).toEqual(['pruned', 1, 'done']);
      expect(await left()).toEqual(['b', 'c']);
    });

    it('removes nothing if there is nothing or everything should be kept', async () => {
      expect(await prune('any', 0)).toEqual(['pruned', 0, 'done']);
      await failInTurn('a');
      expect(await prune('any', 5, 2)).toEqual(['pruned', 0, 'done']);
      expect(await prune(5000, 0, 3)).toEqual(['pruned', 0, 'done']);
    });

    it('removes a hundred in one call at most, the oldest first, and reports that more are left', async () => {
      const ids = Array.from({ length: 101 }, (_, at) => `f${at}`);
      await failInTurn(...ids);
      expect(await prune('any', 0)).toEqual(['pruned', 100, 'more']);
      expect(await left()).toEqual(['f100']);
    });

    it('removes nothing more in a repeat, and refuses an older call', async () => {
      await failInTurn('a');
      await prune('any', 0, 2);
      await failInTurn('b');
      expect(await prune('any', 0, 2)).toEqual(['pruned', 1, 'done']);
      expect(await prune('any', 0, 1)).toEqual(['stale']);
      expect(await left()).toEqual(['b']);
    });
  });
});

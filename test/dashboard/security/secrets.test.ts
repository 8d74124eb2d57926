/** Secrets and markup in the data of jobs. */
import { PAGES } from '../../../src/dashboard/pages/pages';
import { type Served, served } from '../kit/served';
import { openWorld, QUEUES, type World } from '../kit/world';

describe('with all jobs of a shop', () => {
  const SECRETS = /correct horse battery staple|key-5f0c2b7e91|tok_1NqwvB2eZvKYlo|tok_live_4eC39/;
  let world: World;
  let panel: Served;
  beforeAll(async () => {
    world = await openWorld();
    panel = await served(world.manager);
  });
  afterAll(async () => {
    await panel[Symbol.asyncDispose]();
    await world.close();
  });

  /** Every page, for each thing that it can show. */
  const addresses = (): readonly string[] => {
    const connection = world.connection;
    const about: Readonly<Record<string, readonly Readonly<Record<string, string>>[]>> = {
      job: Object.values(world.ids).map((id) => ({ connection, id })),
      batch: Object.values(world.batches).map((id) => ({ id })),
      queue: ['mail', 'payments', 'accounts', QUEUES.strange].flatMap((queue) =>
        ['ready', 'delayed', 'running', 'failed'].map((state) => ({ connection, queue, state })),
      ),
      'job-class': ['ChargeCard', 'CreateAccount', 'NotifyTeam'].map((name) => ({ name })),
      failed: [{}, { name: 'ChargeCard', group: 'CardDeclined: The bank declined order' }],
      search: ['noor', 'declined', 'late', 'password', 'tok_', 'authorization'].map((text) => ({ text })),
    };
    return Object.keys(PAGES).flatMap((page) =>
      (about[page] ?? [{}]).map((query) => `${page === '' ? './' : page}?${new URLSearchParams(query).toString()}`),
    );
  };

  it('no page reveals a secret to people or programs, and no text of a job becomes markup', async () => {
    for (const page of addresses()) {
      const [shown, data] = [await panel.get(page), await panel.get(page, { accept: 'application/json' })];
      expect([page, shown.status < 400, data.status]).toEqual([page, true, 200]);
      expect([page, SECRETS.exec(shown.text)?.[0], SECRETS.exec(data.text)?.[0]]).toEqual([page, undefined, undefined]);
      expect([page, /<img src=x|<img\/src|<em>late|<xml|<i>ops/.exec(shown.text)?.[0]]).toEqual([page, undefined]);
    }
  });

  it.each(['correct horse', 'key-5f0c', 'tok_1Nqw', 'tok_live_4eC'])(
    'no search reveals whether %j is part of a secret',
    async (text) => {
      const found = (await panel.json(`search?${new URLSearchParams({ text }).toString()}`)) as { jobs?: unknown[] };
      expect(found.jobs ?? []).toEqual([]);
    },
  );
});

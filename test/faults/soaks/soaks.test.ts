import { requireBuild } from '../../support/project';
import { soaks } from './all';

beforeAll(() => requireBuild());

it.each(soaks.map((soak) => [soak.title, soak.figure, soak] as const))(
  'with %s: %s',
  async (_title, _figure, { stores, sizes, play }) => {
    // Beside each other: most of the time they wait for leases.
    const findings = await Promise.all(stores.map((store) => play(store, sizes.test)));

    expect(findings.flatMap(({ offences }) => offences)).toEqual([]);
  },
  120_000,
);

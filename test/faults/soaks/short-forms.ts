/** The soaks as tests: each in its short form, on one store. */
import { requireBuild } from '../../support/project';
import type { StoreName } from '../kit/stage';
import { soaks } from './all';

export function testSoaksOn(store: StoreName): void {
  beforeAll(() => requireBuild());

  const here = soaks.filter(({ stores, inTests = stores }) => inTests.includes(store));

  it.each(here.map((soak) => [soak.title, soak.figure, soak] as const))(
    `on ${store}, with %s: %s`,
    async (_title, _figure, { play, sizes }) => {
      const { offences } = await play(store, sizes.test);

      expect(offences).toEqual([]);
    },
  );
}

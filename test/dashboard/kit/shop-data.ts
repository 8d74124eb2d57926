/** The customers and orders of a shop, and its failing jobs. */
import type { JobInstance } from '../../../src/job/registry';
import type { Traffic } from './past-figures';
import {
  ChargeCard,
  ImportCatalogue,
  NotifyTeam,
  ResizeImage,
  SendInvoice,
  SyncCustomer,
  type Customer,
  type Order,
} from './shop-jobs';

const LONG_AGO = new Date(Date.UTC(2027, 0, 14, 8, 5));

const NAMES = [
  'Noor de Vries',
  'Søren Ångström',
  'María-José Núñez',
  '李小龍',
  'עדי כהן',
  'Ada Lovelace',
  "Pat O'Brien",
];

export function customer(place: number): Customer {
  return { name: NAMES[place % NAMES.length]!, email: `customer-${place}@example.com` };
}

export function order(place: number): Order {
  return {
    number: `2027-${String(1000 + place)}`,
    lines: [
      { article: 'Lamp, brass', count: 1 + (place % 3), cents: 12_950n },
      { article: 'Bulb E27', count: 4, cents: 395n },
    ],
    placedAt: new Date(Date.UTC(2027, 2, 1 + (place % 28), 9, 30)),
  };
}

/** The jobs in normal times. */
export const TRAFFIC: readonly Traffic[] = [
  { job: 'SendInvoice', queue: 'mail', rate: 34, took: 240, failing: 2 },
  { job: 'ResizeImage', queue: 'media', rate: 21, took: 1900, failing: 1 },
  { job: 'SyncCustomer', queue: 'sync', rate: 58, took: 420, failing: 1 },
  { job: 'ChargeCard', queue: 'payments', rate: 9, took: 1300, failing: 4 },
  { job: 'CreateAccount', queue: 'accounts', rate: 5, took: 65, failing: 0 },
  { job: 'ImportCatalogue', queue: 'imports', rate: 1, took: 40_000, failing: 3 },
  { job: 'NotifyTeam', queue: 'default', rate: 3, took: 35, failing: 0 },
  { job: 'SweepCarts', queue: 'carts', rate: 1, took: 50, failing: 0 },
];

/** About sixty failing jobs of six kinds. */
export function failures(): readonly JobInstance[] {
  const many = (count: number, make: (place: number) => JobInstance): JobInstance[] =>
    Array.from({ length: count }, (_, place) => make(place));
  return [
    ...many(15, (place) => {
      const { name } = customer(place);
      return new SendInvoice(7000 + place, { name, email: `office@supplier-${place}.invalid` }, LONG_AGO);
    }),
    ...many(
      11,
      (place) => new SyncCustomer(`gone-${place}`, new Map([['email', `new-${place}@example.com`]]), LONG_AGO),
    ),
    ...many(10, (place) => new SyncCustomer(`slow-${place}`, new Map([['phone', null]]), LONG_AGO)),
    ...many(9, (place) => {
      const { name: holder } = customer(place);
      return new ChargeCard(order(place), { holder, last4: '0002', token: `tok_live_4eC39HqLyjWDarjt${place}` });
    }),
    ...many(7, (place) => new ResizeImage(`articles/${200 + place}.webp`, [640, -place])),
    ...many(4, (place) => new ImportCatalogue(`supplier-${place}.json`, { currency: 'EUR', prune: false, rows: 40 })),
    ...many(2, (place) => new NotifyTeam('#ops', `Disk <b>${place}</b> is full`)),
  ];
}

/** The adapters of onqueue/entities on the real libraries: each job carries references and gets the entities again, by one query for each class. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { libraries } from './libraries.mjs';

const { Inject, Job, Queue, silentLogger, Worker } = createRequire(import.meta.url)('onqueue');
const url = process.env.DATABASE_URL;

class Carries extends Job {
  constructor(data) {
    super();
    this.data = data;
  }

  async handle() {
    await received(this);
  }
}
Job()(Carries);

let received = () => undefined;
const queries = [];
const opened = await libraries(url, queries);
Queue.configure({ connections: { memory: { driver: 'memory' } }, entities: opened.adapters, logger: silentLogger });

/** What the job got, and what was asked for it. */
async function carried(data) {
  let got;
  received = (job) => (got = job.data);
  await Carries.dispatch(data);
  queries.length = 0;
  await new Worker({ stopWhenEmpty: true }).run();
  return [got, queries.splice(0)];
}

const lastFailure = async () => (await Queue.failed.list())[0]?.exception ?? '';

for (const library of opened.libraries) {
  const { name, Class, save } = library;
  const [one, two, three] = [await save(`${name} 1`), await save(`${name} 2`), await save(`${name} 3`)];

  const [got, asked] = await carried({ order: one, list: [three, two, one], deep: { again: one } });
  assert.equal(asked.length, 1, `${name}: one query, not ${asked.join('\n')}`);
  assert.equal(got.order.name, `${name} 1`);
  assert.notEqual(got.order, one, `${name}: it was loaded`);
  assert.ok(
    got.deep.again === got.order && got.list[2] === got.order,
    `${name}: an entity in two places is one object`,
  );
  assert.deepEqual(
    got.list.map((order) => order.name),
    [3, 2, 1].map((n) => `${name} ${n}`),
    `${name}: in order`,
  );
  if (Class !== undefined) assert.ok(got.order instanceof Class, `${name}: it has its class`);

  const many = await Promise.all(Array.from({ length: 300 }, (_, n) => save(`many ${n}`)));
  const [loaded, askedMany] = await carried(many);
  assert.deepEqual([loaded.length, askedMany.length, loaded[299].name], [300, 1, 'many 299'], name);

  if (library.saveSeat !== undefined) {
    const seats = [await library.saveSeat(name, 7), await library.saveSeat(name, 8)];
    const [[seven, eight], askedSeats] = await carried(seats);
    assert.deepEqual([seven.place, eight.place, seven.hall, askedSeats.length], [7, 8, name, 1], name);
  }
  if (library.unsaved !== undefined) {
    await assert.rejects(Carries.dispatch([library.unsaved()]), { code: 'E_UNSAVED_ENTITY' }, name);
  }
  if (library.softDelete !== undefined) {
    await library.softDelete(two);
    const [deleted] = await carried(two);
    assert.equal(deleted.name, `${name} 2`, `${name}: what is soft-deleted is there`);
  }
  await library.remove(one);
  const [nothing] = await carried([three, one]);
  assert.equal(nothing, undefined, name);
  assert.match(await lastFailure(), /is gone; Carries [\w-]+ needs it\./, name);
  await Queue.failed.flush();

  if (library.manager !== undefined) await ownManager(library, three);
  console.log(`${name}: ${asked[0]}`);
}

/** The entity belongs to the EntityManager that the run injects: what the handler changes is written by its flush. */
async function ownManager({ manager, read }, entity) {
  class Renames extends Job {
    constructor(order) {
      super();
      this.order = order;
    }

    async handle(em) {
      assert.ok(em.getUnitOfWork().getById(this.order.constructor.name, this.order.id) === this.order);
      this.order.name = 'renamed';
      await em.flush();
    }
  }
  Inject(manager)(Renames.prototype, 'handle', 0);
  Job()(Renames);
  await Renames.dispatch(entity);
  await new Worker({ stopWhenEmpty: true }).run();
  assert.equal(await lastFailure(), '');
  assert.equal(await read(entity), 'renamed');
}

await Queue.close();
await opened.close();

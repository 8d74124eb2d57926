/** Under the module resolution of the days before `exports`, which TypeScript 7 has no more. */
import { Job } from 'onqueue';
import { dashboard } from 'onqueue/dashboard';
import { runJob, TestClock } from 'onqueue/testing';
import { conformance } from 'onqueue/testing/conformance';

@Job()
class Greet extends Job {
  constructor(readonly name: string) {
    super();
  }

  async handle() {
    return `hello ${this.name}`;
  }
}

async function main() {
  const { value } = await runJob(new Greet('Ada'), { clock: new TestClock() });
  // @ts-expect-error the types are there
  const refused: number = value;
  // @ts-expect-error nobody says who may look
  const mount = () => dashboard({});
  console.log(refused, typeof conformance, typeof mount);
}

void main();

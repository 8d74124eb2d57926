import { Job } from 'onqueue';

@Job({ name: 'Greet', queue: 'first' })
export class Greet extends Job {
  constructor(readonly name: string) {
    super();
  }

  async handle() {
    console.log(`hello ${this.name}`);
  }
}

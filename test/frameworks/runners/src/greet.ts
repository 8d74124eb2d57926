import { Job } from 'onqueue';

@Job()
export class Greet extends Job {
  constructor(readonly name: string) {
    super();
  }

  async handle() {
    return `hello ${this.name}`;
  }
}

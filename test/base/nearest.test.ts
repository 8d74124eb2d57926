import { nearest } from '../../src/base/text';

describe('the nearest words', () => {
  it('are found despite swapped letters, a typo, a missing letter or wrong case', () => {
    expect(nearest('SendEmial', ['MakeInvoice', 'SendEmail'])).toEqual(['SendEmail']);
    expect(nearest('tires', ['tries', 'timeout'])).toEqual(['tries']);
    expect(nearest('queu', ['delay', 'queue'])).toEqual(['queue']);
    expect(nearest('FAILONTIMEOUT', ['failOnTimeout'])).toEqual(['failOnTimeout']);
  });

  it('come closest first, at most as many as asked for', () => {
    const known = ['jobs.c', 'jobs.ab', 'jobs.a', 'jobs.xyz'];
    expect(nearest('jobs.ab', known, 2)).toEqual(['jobs.ab', 'jobs.a']);
  });

  it('are none if nothing is near', () => {
    expect(nearest('password', ['tries', 'timeout', 'id'])).toEqual([]);
    expect(nearest('', ['id'])).toEqual([]);
  });

  it('are none if half of a short word would have to change', () => {
    expect(nearest('force', ['once'])).toEqual([]);
    expect(nearest('work:start', ['restart', 'work'])).toEqual([]);
    expect(nearest('x', ['r'])).toEqual([]);
  });
});

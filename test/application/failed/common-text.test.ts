import * as fc from '../../support/properties';
import { commonText } from '../../../src/application/failed/failed-filter';

describe('the common text', () => {
  it.each([
    ['Error: customer gone-17 is unknown\n    at x.ts:1:1', 'Error: customer'],
    ['Error: connect ECONNREFUSED 127.0.0.1:6379', 'Error: connect ECONNREFUSED'],
    ["Error: ENOENT: no such file or directory, open '/srv/a.csv'", 'Error: ENOENT: no such file or directory, open'],
    ['Error: Request failed with status code 404 for /orders/17', 'Error: Request failed with status code 404 for'],
    ['HttpError: 503 Service Unavailable', 'HttpError: 503 Service Unavailable'],
    ['SyntaxError: "abc" is not valid JSON', 'is not valid JSON'],
    ['Error: 12345', 'Error:'],
    ['4711', '4711'],
    ['', ''],
    ['Error: the bank said no', 'Error: the bank said no'],
  ])('of %j is %j', (exception, common) => {
    expect(commonText(exception)).toBe(common);
  });

  it('is part of the error, so that a filter by it finds the error', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: fc.constantFrom(...'aE: 7"\n\t') })),
        (exception) => {
          expect(exception).toContain(commonText(exception));
        },
      ),
    );
  });
});

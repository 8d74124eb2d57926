-- record-put.lua: write records of one kind by id; a single one also depending on its current value.
--
--   parts    records
--
--   KEYS[1] values      hash    id of a record -> its value
--   KEYS[2] ends        zset    id of a record -> when it expires (s)
--   ARGV[1] offset      number  see parts/base.lua
--   ARGV[2] keep        number  seconds until they expire; 0: remove them
--   ARGV[3] most        number  how many records stay, those that expire last; or 'all'
--   ARGV[4] rule        string  'any'; for one record, 'none': only if there is none; 'this': only if it has a value
--   ARGV[5] expected    string  that value, for 'this'
--   ARGV[6] channel     string  wakes those who wait for the first record; '': nobody is told
--   ARGV[7..] records           id and value of each, 100 at most
--
--   returns  {'put'} | {'other'}      ('other' writes nothing: the record has another value)
--   keeps    I15
--   cost     O(log n) for each; at most 200 expired or excess records are dropped
--
--   Idempotent by nature: a repeat writes the same, and 'put' is also the answer if the record has this very value.

local values, ends = KEYS[1], KEYS[2]
local keep, most, rule, expected = tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4], ARGV[5]
local channel = ARGV[6]
local FIRST, MOST_DROPPED = 7, 2 * MOST_JOBS

local moment = clock()

-- Read whatever the rule is: a key of another type must fail before anything is written.
local found = standing(values, ends, ARGV[FIRST], moment)
local is_right = rule == 'any' or (rule == 'none' and not found) or (rule == 'this' and found == expected)
if not is_right and found ~= ARGV[FIRST + 1] then return { 'other' } end

local ids, fields, scores = {}, {}, {}
local ending = score(moment + math.floor(keep * 1000000))
for at = FIRST, #ARGV, 2 do
  local id, value = ARGV[at], ARGV[at + 1]
  ids[#ids + 1] = id
  fields[#fields + 1], fields[#fields + 2] = id, value
  scores[#scores + 1], scores[#scores + 2] = ending, id
end

-- The end is written first and removed last: a value without an end would stay forever.
if keep > 0 then
  call('ZADD', ends, unpack(scores))
  call('HSET', values, unpack(fields))
else
  call('HDEL', values, unpack(ids))
  call('ZREM', ends, unpack(ids))
end

local over = call('ZCOUNT', ends, '-inf', score(moment))
if most then over = math.max(over, call('ZCARD', ends) - most) end
if over > 0 then
  local dropped = call('ZRANGE', ends, 0, math.min(over, MOST_DROPPED) - 1)
  call('HDEL', values, unpack(dropped))
  call('ZREM', ends, unpack(dropped))
end

-- All records expire with the last one, even if nobody writes one again.
local last = call('ZRANGE', ends, -1, -1, 'WITHSCORES')[2]
if last then
  for _, key in ipairs({ values, ends }) do call('EXPIREAT', key, math.ceil(last)) end
end

-- The record is written even if the user may not publish: then those who wait find it with their next look.
if channel ~= '' then redis.pcall('PUBLISH', channel, ARGV[FIRST]) end
return { 'put' }

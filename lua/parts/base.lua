-- base.lua: the first part of every script: the clock, the record of answers, hints.
--
--   Every script has ARGV[1] offset: seconds to add to the server's clock; 0 except in tests, which move time with it.
--   A script that writes has KEYS[1] client and ARGV[2] sequence: see `recall`.

-- The most that one call moves, so that no call blocks the server. Texts are read page by page for the same reason.
local MOST_JOBS, MOST_BYTES, PAGE = 100, 1048576, 10
-- Seconds for which an answer is kept in case the call is repeated: longer than any client goes on asking.
local KEPT = 3600

local call, sub, find, byte, format = redis.call, string.sub, string.find, string.byte, string.format

-- The server's time in microseconds: a whole number, which a double represents exactly.
local function clock()
  local time = call('TIME')
  return time[1] * 1000000 + time[2] + math.floor(ARGV[1] * 1000000)
end

-- A moment as a score: seconds, as in Laravel. Lua's own conversion would drop the fraction.
local function score(moment)
  return format('%.6f', moment / 1000000)
end

-- The first moment from `moment` on, as a score, that no member of `key` has: a repeat finds the jobs of its call by
-- it.
local function free_score(key, moment)
  local free = score(moment)
  while call('ZCOUNT', key, free, free) > 0 do
    moment = moment + 1
    free = score(moment)
  end
  return free
end

-- When a job becomes ready. `delay` is seconds from `moment`, or '@' and seconds since 1970.
local function due_at(moment, delay)
  if byte(delay) == 64 then return math.floor(tonumber(sub(delay, 2)) * 1000000) end
  return moment + math.floor(tonumber(delay) * 1000000)
end

-- The recorded answer, if the call was carried out before: its reply was lost, and the client asks again. 'stale': an
-- older call from an abandoned socket arrives after its successor. Nil: the call is new; then also returns whether the
-- record of the client's earlier call is missing, and the number that the last call left.
local function recall(client, sequence)
  local recorded = call('GET', client)
  if not recorded then return nil, sequence > 1, 0 end
  local _, last_byte, last, number = find(recorded, '^(%d+) (%d+) ')
  last = tonumber(last)
  if last > sequence then return { 'stale' } end
  if last == sequence then return cmsgpack.unpack(sub(recorded, last_byte + 1)) end
  return nil, false, tonumber(number)
end

-- A refused write of the record does not undo the call. `number` is handed to the next call; `is_young`: another call
-- set the record's expiry a moment ago.
local function record(client, sequence, answer, number, is_young)
  local text = format('%.0f %.0f ', sequence, number or 0) .. cmsgpack.pack(answer)
  if is_young then redis.pcall('SET', client, text, 'KEEPTTL') else redis.pcall('SET', client, text, 'EX', KEPT) end
  return answer
end

-- One hint is enough: the worker that takes it leaves another one as long as there is work.
local function leave_hint(notify)
  if call('LLEN', notify) == 0 then call('RPUSH', notify, '1') end
end

-- A member that no key has: the client's name is random.
local function nobody()
  return KEYS[1] .. '\n' .. ARGV[2]
end

-- Removes nothing from a sorted set, but fails if a removal would fail. Called before something new is written:
-- otherwise the job would be there twice, and once more with each repeat. Besides, a full server lets a script add
-- only after a command like this.
local function ask_to_remove(key)
  call('ZREM', key, nobody())
end

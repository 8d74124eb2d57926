-- push.lua: put payloads into a queue, ready or delayed.
--
--   rarely   texts ties
--
--   KEYS[1] client      string  the number of the last call of this client that was carried out, and what it answered
--   KEYS[2] ready       list    payloads ready to run
--   KEYS[3] delayed     zset    payload -> due time (s)
--   KEYS[4] notify      list    wake-up hints
--   KEYS[5] unique      hash    unique key -> who holds it
--   ARGV[1] offset      number  see parts/base.lua
--   ARGV[2] sequence    number  of this call, among those of the client
--   ARGV[3] rule        string  'next': only where the call before this one is the last that was carried out; 'any'
--   ARGV[4] count       number  how many entries are ready at once
--   ARGV[5..] entries           the payloads of those, then for each delayed one: rule, delay, payload
--                               delay: seconds, or '@' and the moment; one that has passed makes it ready at once
--                               rule 'unique': refuse what waits as delayed already; 'tied': refuse it where its unique
--                               key is held, otherwise it holds that; 'any': give it the new due time
--
--   returns  {'pushed', duplicates, found, held} | {'gap'}      ('gap' writes nothing)
--            duplicates: places (from 1, among the delayed) of entries that were refused; the others went in;
--            found: 'unrecorded' (there is no record of an earlier call of this client) or 'recorded'.
--            held: places, as above, of entries that were refused for their unique key, each with the id of its holder.
--            All are left out where nothing was refused and a record was found, as nearly always.
--   keeps    I1 I5 I6 I7 I12
--   cost     O(1) for a ready entry, O(log n) for a delayed one

local client, ready, delayed, notify, unique = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local sequence, rule, count = ARGV[2], ARGV[3], tonumber(ARGV[4])
local FIRST_ENTRY = 5

-- A repeat. Calls that are under way together are carried out in order: where a later one was, this one was before it.
-- Its answer is known no more, so a client sends none behind one that may be refused a duplicate.
local recorded = call('GET', client)
local last, answer = recorded and tonumber(recorded), nil
if recorded and not last then
  local _, number_end = find(recorded, ' ', 1, true)
  last, answer = tonumber(sub(recorded, 1, number_end)), cmsgpack.unpack(sub(recorded, number_end + 1))
end
local distance = tonumber(sequence) - (last or 0)
if recorded and distance <= 0 then return distance == 0 and answer or { 'pushed' } end
if rule == 'next' and distance > 1 then return { 'gap' } end

-- All that can be refused is asked for first: a key of another type, a right that is missing.
local hints = call('LLEN', notify)
local moment, first_due = nil, nil
local due_now, added, duplicates, new = {}, {}, {}, {}
-- Keys that are taken, each with its holder; by key, the id of that; and entries whose keys others hold.
local keys, taken, held = {}, {}, {}
for at = FIRST_ENTRY + count, #ARGV, 3 do
  moment = moment or clock()
  local place = (at - FIRST_ENTRY - count) / 3
  local due, payload = due_at(moment, ARGV[at + 1]), ARGV[at + 2]
  local tie = ARGV[at] == 'tied' and rarely().tie_of(payload)
  local holder = tie and (taken[tie.key] or rarely().holder_of(unique, tie.key, moment))
  if tie and not holder then
    taken[tie.key] = tie.id
    keys[#keys + 1], keys[#keys + 2] = tie.key, rarely().held_by(tie, moment)
  end
  if holder then
    held[#held + 1], held[#held + 2] = place + 1, holder
  elseif due <= moment then
    due_now[#due_now + 1] = payload
  elseif ARGV[at] == 'unique' and (new[payload] or call('ZSCORE', delayed, payload)) then
    duplicates[#duplicates + 1] = place + 1
  else
    -- A microsecond apart, so that what was pushed in order with one delay comes up in that order.
    due = due + place
    first_due = math.min(first_due or due, due)
    added[#added + 1], added[#added + 2] = score(due), payload
    new[payload] = true
  end
end
local comes_first = first_due and call('ZCOUNT', delayed, '-inf', '(' .. score(first_due)) == 0
if first_due then call('ZADD', delayed, 'XX', 0, nobody()) end

local write = call
if #keys > 0 then
  call('LLEN', ready)
  call('HSET', unique, unpack(keys))
  -- Nothing but a push asks for the right to push: without it, the keys are left again.
  write = function(...)
    local reply = redis.pcall(...)
    if type(reply) ~= 'table' or not reply.err then return end
    for i = 1, #keys, 2 do redis.pcall('HDEL', unique, keys[i]) end
    error(reply)
  end
end
if count > 0 then write('RPUSH', ready, unpack(ARGV, FIRST_ENTRY, FIRST_ENTRY + count - 1)) end
if #due_now > 0 then write('RPUSH', ready, unpack(due_now)) end
if first_due then write('ZADD', delayed, unpack(added)) end

-- One is enough: whoever takes it leaves another as long as there is work.
if hints == 0 and (count + #due_now > 0 or comes_first) then redis.pcall('RPUSH', notify, '1') end

local found = distance > 1 and not recorded and 'unrecorded' or 'recorded'
answer = { 'pushed' }
local is_full = #duplicates > 0 or #held > 0
if is_full or found == 'unrecorded' then answer = { 'pushed', duplicates, found, #held > 0 and held or nil } end
-- A refused record does not undo what was done.
redis.pcall('SET', client, is_full and sequence .. ' ' .. cmsgpack.pack(answer) or sequence, 'EX', KEPT)
return answer

-- reschedule.lua: let a delayed job wait until another moment, or make it ready.
--
--   parts    texts budget search lanes arrivals held sight unique ties
--
--   KEYS[1] client      string  the recorded answer to this client
--   KEYS[2] ready       list    payloads ready to run
--   KEYS[3] delayed     zset    payload -> due time (s)
--   KEYS[4] notify      list    wake-up hints
--   KEYS[5] lanes       hash    lane -> how many of its jobs are ready or reserved: see parts/lanes.lua
--   KEYS[6] held        zset    jobs that wait until their lane has room
--   ARGV[1] offset      number  see parts/base.lua
--   ARGV[2] sequence    number  see parts/base.lua
--   ARGV[3] id          string
--   ARGV[4] delay       number  seconds from now, or '@' and the moment; 0 or a moment in the past makes it ready
--   ARGV[5] from        number  how many of the last delayed jobs were looked at before; 0: look at both ends
--
--   returns  {'rescheduled'}   it waits until that moment
--            {'ready'}         it was delayed, and is ready, or held by its lane
--            {'debounced'}     the next job of its key looks for it at its moment: it can only be made ready
--            {'unseen', seen}  not found, but not all were looked at. seen: how many of the last delayed jobs were
--            {'unknown'}       it is not delayed
--            {'stale'}         (only 'rescheduled' and 'ready' write anything)
--   keeps    I1 I5 I6 I7 I12 I13 I14 I18
--   cost     O(log n) to move the job; it looks at the last 100 delayed jobs or 1 MiB of text, twice if the first of
--            them were looked at before, and the first time at as many from the head
--
--   Only a move is recorded: after any other answer, a repeat finds the same.

local client, ready, delayed, notify, lanes, held = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local sequence, id, delay, from = tonumber(ARGV[2]), ARGV[3], ARGV[4], tonumber(ARGV[5])

local known = recall(client, sequence)
if known then return known end

local text, seen = nil, nil
if from == 0 then text = search(sorted(delayed), meant_by(id)) end
if not text then text, seen = look_back(id, from, call('ZCARD', delayed), sorted_back(delayed)) end
if not text then return seen and { 'unseen', seen } or { 'unknown' } end

local moment = clock()
local due = due_at(moment, delay)
if due > moment then
  local tie = tie_of(text)
  local _, attempts, crashes, _, _, releases = read_counters(text)
  -- One that was handed out before waits for its next attempt, and no other job looks for it.
  if tie and tie.ending == 'd' and attempts + crashes + releases == 0 then return { 'debounced' } end
end

-- Read before anything is written: if it has another type, the job stays where it is.
call('LLEN', notify)
ask_to_remove(delayed)
if due > moment then
  call('ZADD', delayed, 'XX', score(due), text)
  -- Whoever waits may have been told a later moment.
  if call('ZRANGE', delayed, 0, 0)[1] == text then pcall(leave_hint, notify) end
  return record(client, sequence, { 'rescheduled' })
end
if lane_in(text) then enter(lanes, held, ready, { text }, true) else call('RPUSH', ready, text) end
call('ZREM', delayed, text)
pcall(leave_hint, notify)
return record(client, sequence, { 'ready' })

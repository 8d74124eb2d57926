-- push.lua: put payloads into a queue, ready or delayed.
--
--   need     lanes arrivals texts unique ties take debounce batches old join
--
--   KEYS[1] client      string  the number of this client's last call that was carried out, and its answer
--   KEYS[2] ready       list    payloads ready to run
--   KEYS[3] delayed     zset    payload -> due time (s)
--   KEYS[4] notify      list    wake-up hints
--   KEYS[5] unique      hash    unique key -> its holder, and key of a debounced job -> the job that waits
--                               Only if an entry has a lane, or with a batch:
--   KEYS[6] lanes       hash    lane -> how many of its jobs are ready or reserved: see parts/lanes.lua
--   KEYS[7] held        zset    jobs that wait until their lane has room
--                               Only with a batch that the entries belong to:
--   KEYS[8] batches     hash    id of a batch -> its numbers and the jobs it sends: see parts/batches.lua
--   KEYS[9] begun_batches       zset  id of a batch -> when it began (s)
--   KEYS[10] cancelled_batches  zset  id of a cancelled batch that has not finished -> when it was cancelled (s)
--   KEYS[11..] callback_keys    of each job that a new batch sends: ready, delayed, notify of its queue
--   ARGV[1] offset      number  see parts/base.lua
--   ARGV[2] sequence    number  of this call, among those of the client
--   ARGV[3] after       string  'next': only if the call before this one was the last one carried out; or the number of
--                               the last call that the client knows to be carried out, 0 if there is none
--   ARGV[4] count       number  how many entries are ready at once
--   ARGV[5] tied        number  how many entries have a unique key
--   ARGV[6] debounced   number  how many entries are debounced
--   ARGV[7] laned_count number  how many entries have a lane
--   ARGV[8..] entries           if any has a unique key: the places of those (from 1, among all) in one text, their
--                               keys, and their ties (see unique.lua);
--                               then for each debounced one: its place, the key, and its tie, which has the number of
--                               ms for which it can be put off;
--                               then the payloads of the ready ones;
--                               then for each delayed one: rule, delay, payload
--                               delay: seconds, or '@' and the moment; a past moment makes it ready at once
--                               rule 'unique': refuse a text that already waits; 'any': give it the new due time;
--                               then, with a batch, the arguments of parts/join.lua
--
--   returns  {'pushed', duplicates, found, held, replaced} | {'ended', why} | {'gap'}      (only 'pushed' adds a job)
--            duplicates: places of entries that were refused; the others went in;
--            found: 'unrecorded' (the record lacks a call that the client knows to be carried out) or 'recorded'.
--            held: places of entries that were refused because of their unique key, each with the id of its holder;
--            replaced: places of debounced ones, each with the id of the job that it replaced.
--            why: the batch takes no more jobs: finished, cancelled, or unknown.
--            Nearly always nothing was refused or replaced and a record was found: then all are left out.
--   keeps    I1 I5 I6 I7 I12 I13 I14 I18
--   cost     O(1) for a ready entry, O(log n) for a delayed one

local client, ready, delayed, notify, unique = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local lanes, held = KEYS[6], KEYS[7]
local batches, begun_batches, cancelled_batches = KEYS[8], KEYS[9], KEYS[10]
local sequence, after = ARGV[2], ARGV[3]
local count, tied, debounced, laned_count = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local FIRST_TIE, callback_keys = 8, 11

-- A repeat. Calls that are under way together are carried out in order: if a later one was, so was this one.
-- Its answer is no longer known, so a client sends no call behind one that may refuse a duplicate.
local recorded = call('GET', client)
local last, answer = recorded and tonumber(recorded), nil
if recorded and not last then
  local _, number_end = find(recorded, ' ', 1, true)
  last, answer = tonumber(sub(recorded, 1, number_end)), cmsgpack.unpack(sub(recorded, number_end + 1))
end
local distance = tonumber(sequence) - (last or 0)
if recorded and distance <= 0 then return distance == 0 and answer or { 'pushed' } end
if after == 'next' and distance > 1 then return { 'gap' } end

-- Everything that can be refused is checked first: a key of another type, a missing right.
local hints = call('LLEN', notify)
local moment, first_due = nil, nil
local due_now, added, duplicates, new = {}, {}, {}, {}
local first_debounced = tied > 0 and FIRST_TIE + 1 + 2 * tied or FIRST_TIE
local first_ready = first_debounced + 3 * debounced
local first_delayed = first_ready + count
local keys = tied > 0 and need('look_up')(unique, FIRST_TIE, tied)
local refused = keys and keys.refused
if debounced > 0 then moment = clock() end
local put = debounced > 0
  and need('put_off')(unique, delayed, first_debounced, debounced, count, first_delayed, moment)
local joining, last_entry = nil, #ARGV
if batches then
  moment = clock()
  joining, last_entry = need('prepare_to_join')(batches, cancelled_batches, callback_keys, refused, moment)
  if joining.why then
    answer = { 'ended', joining.why }
    redis.pcall('SET', client, sequence .. ' ' .. cmsgpack.pack(answer), 'EX', KEPT)
    return answer
  end
end
for at = first_delayed, last_entry, 3 do
  moment = moment or clock()
  local place = (at - first_delayed) / 3
  local due, payload = due_at(moment, ARGV[at + 1]), ARGV[at + 2]
  local plan = put and put.plans[count + place + 1]
  if plan then due = plan.due end
  if refused and refused[count + place + 1] then
    -- Another job holds its key.
  elseif plan and plan.is_gone then
    -- A later entry has replaced it.
  elseif due <= moment then
    due_now[#due_now + 1] = payload
  elseif ARGV[at] == 'unique' and (new[payload] or call('ZSCORE', delayed, payload)) then
    duplicates[#duplicates + 1] = count + place + 1
  else
    -- A microsecond apart, so that jobs pushed in order with one delay become ready in that order.
    if not plan then due = due + place end
    first_due = math.min(first_due or due, due)
    added[#added + 1], added[#added + 2] = score(due), payload
    new[payload] = true
  end
end
local comes_first = first_due and call('ZCOUNT', delayed, '-inf', '(' .. score(first_due)) == 0
if first_due then call('ZADD', delayed, 'XX', 0, nobody()) end

if refused or laned_count > 0 then
  local texts = {}
  for place = 1, count do
    if not refused or not refused[place] then texts[#texts + 1] = ARGV[first_ready + place - 1] end
  end
  for _, text in ipairs(due_now) do texts[#texts + 1] = text end
  due_now, count = texts, 0
end
local entering = laned_count > 0 and need('plan_arrivals')(lanes, held, ready, due_now)

local write = joining and need('join_batch')(joining, begun_batches, ready, unique, keys)
  or keys and need('take')(unique, keys, ready) or call
if put then write = need('wait_under')(unique, put, write) end
if entering then
  need('write_arrivals')(entering, write)
  due_now = {}
end
if count > 0 then write('RPUSH', ready, unpack(ARGV, first_ready, first_delayed - 1)) end
if #due_now > 0 then write('RPUSH', ready, unpack(due_now)) end
if first_due then write('ZADD', delayed, unpack(added)) end
if put then need('remove_replaced')(unique, put, delayed) end

if joining and joining.is_new then need('sweep')(batches, begun_batches, cancelled_batches, moment, sequence) end

-- One hint is enough: whoever takes it leaves another one as long as there is work.
local ready_count = entering and #entering.ready or count + #due_now
if hints == 0 and (ready_count > 0 or comes_first) then redis.pcall('RPUSH', notify, '1') end

local found = (last or 0) < (tonumber(after) or 0) and 'unrecorded' or 'recorded'
answer = { 'pushed' }
local replaced = put and #put.replaced > 0 and put.replaced or nil
local is_full = #duplicates > 0 or refused or replaced
if is_full or found == 'unrecorded' then
  answer = { 'pushed', duplicates, found, refused and keys.held or replaced and {} or nil, replaced }
end
-- A refused write of the record does not undo the push.
redis.pcall('SET', client, is_full and sequence .. ' ' .. cmsgpack.pack(answer) or sequence, 'EX', KEPT)
return answer

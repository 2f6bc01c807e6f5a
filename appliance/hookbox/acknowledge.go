package hookbox

import (
	"context"

	"github.com/holdmail/holdmail/appliance/delivery"
)

// Sealed returns the bytes of a delivery, or storage.ErrGone.
func (s *Service) Sealed(ctx context.Context, id string) ([]byte, error) {
	return s.store.Sealed(ctx, id)
}

// Acknowledge removes the deliveries of ids, and returns how many there were: doing
// it twice does no harm. Before that, senders who wait get their answers, whether
// their deliveries are acknowledged or not, and those who are acknowledged without
// one wait no more. The first answer counts. It returns what Store.Remove does.
func (s *Service) Acknowledge(ctx context.Context, ids []string, answers map[string]delivery.Response) (removed int, err error) {
	s.answer(ids, answers)
	if len(ids) == 0 {
		return 0, nil
	}
	if removed, err = s.store.Remove(ctx, ids); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		delete(s.leases, id)
	}
	return removed, nil
}

func (s *Service) answer(ids []string, answers map[string]delivery.Response) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, answer := range answers {
		s.reply(id, &answer)
	}
	for _, id := range ids {
		s.reply(id, nil)
	}
}

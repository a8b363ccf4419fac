"""Every table, with its constraints and indexes."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

BIG_ID = sa.BigInteger().with_variant(sa.Integer(), 'sqlite')
JSON_LIST = sa.JSON().with_variant(postgresql.JSONB(), 'postgresql')


def upgrade() -> None:
    op.create_table('categories',
    sa.Column('id', BIG_ID, nullable=False),
    sa.Column('slug', sa.String(length=50), nullable=False),
    sa.Column('name', sa.String(length=100), nullable=False),
    sa.Column('description', sa.String(length=500), nullable=False),
    sa.Column('live_projects', BIG_ID, nullable=False),
    sa.Column('pending_projects', BIG_ID, nullable=False),
    sa.Column('rejected_projects', BIG_ID, nullable=False),
    sa.CheckConstraint('live_projects >= 0 AND pending_projects >= 0 AND rejected_projects >= 0', name=op.f('ck_categories_counters')),
    sa.PrimaryKeyConstraint('id', name='pk_categories'),
    sa.UniqueConstraint('slug', name='uq_categories_slug'),
    sqlite_autoincrement=True
    )
    op.create_table('deliveries',
    sa.Column('id', BIG_ID, nullable=False),
    sa.Column('webhook_id', sa.String(length=64), nullable=False),
    sa.Column('event', sa.String(length=40), nullable=False),
    sa.Column('endpoint', sa.String(length=300), nullable=False),
    sa.Column('project_id', BIG_ID, nullable=True),
    sa.Column('payload', sa.Text(), nullable=False),
    sa.Column('state', sa.String(length=16), nullable=False),
    sa.Column('attempts', sa.Integer(), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('next_attempt_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('leased_until', sa.DateTime(timezone=True), nullable=True),
    sa.Column('lease_token', sa.String(length=32), nullable=True),
    sa.Column('settled_at', sa.DateTime(timezone=True), nullable=True),
    sa.CheckConstraint("state IN ('pending', 'delivered', 'dead')", name=op.f('ck_deliveries_state')),
    sa.CheckConstraint('(lease_token IS NULL) = (leased_until IS NULL)', name=op.f('ck_deliveries_lease')),
    sa.CheckConstraint("(state = 'pending') = (settled_at IS NULL)", name=op.f('ck_deliveries_settled')),
    sa.PrimaryKeyConstraint('id', name='pk_deliveries'),
    sa.UniqueConstraint('webhook_id', 'endpoint', name='uq_deliveries_webhook_id_endpoint'),
    sqlite_autoincrement=True
    )
    op.create_index('ix_deliveries_due', 'deliveries', ['endpoint', 'next_attempt_at', 'id'], postgresql_where=sa.text("state = 'pending'"), sqlite_where=sa.text("state = 'pending'"))
    op.create_index('ix_deliveries_settled_at', 'deliveries', ['settled_at'])
    op.create_index('ix_deliveries_state_id', 'deliveries', ['state', 'id'])

    op.create_table('users',
    sa.Column('id', BIG_ID, nullable=False),
    sa.Column('username', sa.String(length=32), nullable=False),
    sa.Column('email', sa.String(length=254), nullable=False),
    sa.Column('password_hash', sa.String(length=200), nullable=False),
    sa.Column('role', sa.String(length=16), nullable=False),
    sa.Column('status', sa.String(length=16), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.CheckConstraint("role IN ('member', 'admin')", name=op.f('ck_users_role')),
    sa.CheckConstraint("status IN ('active', 'suspended')", name=op.f('ck_users_status')),
    sa.PrimaryKeyConstraint('id', name='pk_users'),
    sa.UniqueConstraint('email', name='uq_users_email'),
    sa.UniqueConstraint('username', name='uq_users_username'),
    sqlite_autoincrement=True
    )
    op.create_index('ix_users_created_at_id', 'users', ['created_at', 'id'])
    op.create_index('ix_users_role_status_id', 'users', ['role', 'status', 'id'])

    op.create_table('audit_entries',
    sa.Column('id', BIG_ID, nullable=False),
    sa.Column('action', sa.String(length=40), nullable=False),
    sa.Column('at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('actor_id', BIG_ID, nullable=True),
    sa.Column('project_id', BIG_ID, nullable=True),
    sa.Column('user_id', BIG_ID, nullable=True),
    sa.Column('from_state', sa.String(length=16), nullable=True),
    sa.Column('to_state', sa.String(length=16), nullable=True),
    sa.Column('reason', sa.String(length=1000), nullable=True),
    sa.Column('url_key', sa.String(length=64), nullable=True),
    sa.Column('waited_seconds', sa.Float(precision=53), nullable=True),
    sa.ForeignKeyConstraint(['actor_id'], ['users.id'], name='fk_audit_entries_actor_id_users', ondelete='RESTRICT'),
    sa.PrimaryKeyConstraint('id', name='pk_audit_entries'),
    sqlite_autoincrement=True
    )
    op.create_index('ix_audit_entries_action_at', 'audit_entries', ['action', 'at'])
    op.create_index('ix_audit_entries_actor_id_id', 'audit_entries', ['actor_id', 'id'])
    op.create_index('ix_audit_entries_project_id_id', 'audit_entries', ['project_id', 'id'])
    op.create_index('ix_audit_entries_url_key_id', 'audit_entries', ['url_key', 'id'])
    op.create_index('ix_audit_entries_user_id_id', 'audit_entries', ['user_id', 'id'])

    op.create_table('delivery_attempts',
    sa.Column('id', BIG_ID, nullable=False),
    sa.Column('delivery_id', BIG_ID, nullable=False),
    sa.Column('at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('status', sa.Integer(), nullable=True),
    sa.Column('error', sa.String(length=200), nullable=True),
    sa.Column('milliseconds', sa.Integer(), nullable=False),
    sa.Column('response', sa.Text(), nullable=False),
    sa.ForeignKeyConstraint(['delivery_id'], ['deliveries.id'], name='fk_delivery_attempts_delivery_id_deliveries', ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('id', name='pk_delivery_attempts'),
    sqlite_autoincrement=True
    )
    op.create_index('ix_delivery_attempts_delivery_id_id', 'delivery_attempts', ['delivery_id', 'id'])

    op.create_table('projects',
    sa.Column('id', BIG_ID, nullable=False),
    sa.Column('owner_id', BIG_ID, nullable=False),
    sa.Column('category_id', BIG_ID, nullable=False),
    sa.Column('title', sa.String(length=100), nullable=False),
    sa.Column('slug', sa.String(length=80), nullable=False),
    sa.Column('tagline', sa.String(length=140), nullable=False),
    sa.Column('description', sa.Text(), nullable=False),
    sa.Column('url', sa.String(length=2048), nullable=False),
    sa.Column('url_key', sa.String(length=64), nullable=False),
    sa.Column('repository_url', sa.String(length=2048), nullable=True),
    sa.Column('logo_url', sa.String(length=2048), nullable=True),
    sa.Column('tags', JSON_LIST, nullable=False),
    sa.Column('status', sa.String(length=16), nullable=False),
    sa.Column('rejection_reason', sa.String(length=1000), nullable=True),
    sa.Column('upvotes', BIG_ID, nullable=False),
    sa.Column('hot', sa.Float(precision=53), nullable=False),
    sa.Column('version', BIG_ID, nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('updated_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('submitted_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('published_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('listed_at', sa.DateTime(timezone=True), sa.Computed('COALESCE(published_at, created_at)', persisted=True), nullable=False),
    sa.CheckConstraint("status <> 'live' OR published_at IS NOT NULL", name=op.f('ck_projects_published')),
    sa.CheckConstraint("status IN ('live', 'pending', 'rejected')", name=op.f('ck_projects_status')),
    sa.CheckConstraint('upvotes >= 0', name=op.f('ck_projects_upvotes')),
    sa.ForeignKeyConstraint(['category_id'], ['categories.id'], name='fk_projects_category_id_categories', ondelete='RESTRICT'),
    sa.ForeignKeyConstraint(['owner_id'], ['users.id'], name='fk_projects_owner_id_users', ondelete='RESTRICT'),
    sa.PrimaryKeyConstraint('id', name='pk_projects'),
    sa.UniqueConstraint('owner_id', 'url_key', name='uq_projects_owner_id_url_key'),
    sqlite_autoincrement=True
    )
    op.create_index('ix_projects_category_id_status_submitted_at_id', 'projects', ['category_id', 'status', 'submitted_at', 'id'])
    op.create_index('ix_projects_listed_at_id', 'projects', ['listed_at', 'id'])
    op.create_index('ix_projects_owner_id_status_listed_at_id', 'projects', ['owner_id', 'status', 'listed_at', 'id'])
    op.create_index('ix_projects_status_category_id_hot_id', 'projects', ['status', 'category_id', 'hot', 'id'])
    op.create_index('ix_projects_status_category_id_listed_at_id', 'projects', ['status', 'category_id', 'listed_at', 'id'])
    op.create_index('ix_projects_status_category_id_upvotes_id', 'projects', ['status', 'category_id', 'upvotes', 'id'])
    op.create_index('ix_projects_status_hot_id', 'projects', ['status', 'hot', 'id'])
    op.create_index('ix_projects_status_listed_at_id', 'projects', ['status', 'listed_at', 'id'])
    op.create_index('ix_projects_status_submitted_at_id', 'projects', ['status', 'submitted_at', 'id'])
    op.create_index('ix_projects_status_upvotes_id', 'projects', ['status', 'upvotes', 'id'])

    op.create_table('sessions',
    sa.Column('id', BIG_ID, nullable=False),
    sa.Column('user_id', BIG_ID, nullable=False),
    sa.Column('token_hash', sa.String(length=64), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('last_seen_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('user_agent', sa.String(length=300), nullable=False),
    sa.ForeignKeyConstraint(['user_id'], ['users.id'], name='fk_sessions_user_id_users', ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('id', name='pk_sessions'),
    sa.UniqueConstraint('token_hash', name='uq_sessions_token_hash'),
    sqlite_autoincrement=True
    )
    op.create_index('ix_sessions_user_id', 'sessions', ['user_id'])

    op.create_table('tokens',
    sa.Column('id', BIG_ID, nullable=False),
    sa.Column('user_id', BIG_ID, nullable=False),
    sa.Column('name', sa.String(length=100), nullable=False),
    sa.Column('token_hash', sa.String(length=64), nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.Column('expires_at', sa.DateTime(timezone=True), nullable=True),
    sa.Column('last_used_at', sa.DateTime(timezone=True), nullable=True),
    sa.ForeignKeyConstraint(['user_id'], ['users.id'], name='fk_tokens_user_id_users', ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('id', name='pk_tokens'),
    sa.UniqueConstraint('token_hash', name='uq_tokens_token_hash'),
    sqlite_autoincrement=True
    )
    op.create_index('ix_tokens_user_id', 'tokens', ['user_id'])

    op.create_table('project_tags',
    sa.Column('tag', sa.String(length=32), nullable=False),
    sa.Column('project_id', BIG_ID, autoincrement=False, nullable=False),
    sa.ForeignKeyConstraint(['project_id'], ['projects.id'], name='fk_project_tags_project_id_projects', ondelete='CASCADE'),
    sa.PrimaryKeyConstraint('tag', 'project_id', name='pk_project_tags')
    )
    op.create_index('ix_project_tags_project_id', 'project_tags', ['project_id'])

    op.create_table('upvotes',
    sa.Column('user_id', BIG_ID, autoincrement=False, nullable=False),
    sa.Column('project_id', BIG_ID, autoincrement=False, nullable=False),
    sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
    sa.ForeignKeyConstraint(['project_id'], ['projects.id'], name='fk_upvotes_project_id_projects', ondelete='CASCADE'),
    sa.ForeignKeyConstraint(['user_id'], ['users.id'], name='fk_upvotes_user_id_users', ondelete='RESTRICT'),
    sa.PrimaryKeyConstraint('user_id', 'project_id', name='pk_upvotes')
    )
    op.create_index('ix_upvotes_created_at', 'upvotes', ['created_at'])
    op.create_index('ix_upvotes_project_id', 'upvotes', ['project_id'])



def downgrade() -> None:
    op.drop_table('upvotes')
    op.drop_table('project_tags')
    op.drop_table('tokens')
    op.drop_table('sessions')
    op.drop_table('projects')
    op.drop_table('delivery_attempts')
    op.drop_table('audit_entries')
    op.drop_table('users')
    op.drop_table('deliveries')
    op.drop_table('categories')
